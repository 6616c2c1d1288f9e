#include "cli/bench/wire_report.h"

#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

WireReport Example() {
  WireReport report;
  report.options.shape.floats = 1 << 20;
  report.options.shape.optimizer = WireOptimizer::kAdam;
  report.peer = "10.0.0.2:7080";
  for (const WireKind kind : kWireKinds) {
    WireKindResult result;
    result.kind = kind;
    result.selari = {1.5e9, 1e9, 2e9};
    result.raw = {3e9, 2e9, 4e9};
    result.raw_name = "large blocks";
    result.grpc = {1e9, 1e9, 1e9};
    result.ratio = {0.5, 0.4, 0.6};
    report.kinds.push_back(result);
  }
  report.latency = {2000, 10000, {150, 300}, {100, 200}, {50, 60}};
  report.memory.server = {5 << 20, 10 << 20};
  report.memory.server_weights_bytes = 4 << 20;
  report.memory.server_slots_bytes = 8 << 20;
  report.checks = 7;
  report.checked_bytes = 1000;
  return report;
}

TEST(WireReportTest, JsonHasWhatProgramsRelyOn) {
  const Json json = Json::parse(WireReportJson(Example()), nullptr, false);
  ASSERT_TRUE(json.is_object());
  for (const char* kind : {"push_apply", "pull", "both"}) {
    EXPECT_EQ(json[kind]["bytes_per_second"], 1.5e9);
    EXPECT_EQ(json[kind]["raw_tcp_bytes_per_second"], 3e9);
    EXPECT_EQ(json[kind]["ratio"], 0.5);
  }
  EXPECT_EQ(json["step_latency"]["p50_ratio_to_grpc"], 1.5);
  EXPECT_EQ(json["step_latency"]["raw_tcp"]["p99_us"], 60);
  EXPECT_EQ(json["memory"]["server"]["vm_hwm_bytes"], 10 << 20);
  EXPECT_EQ(json["memory"]["client"]["gradients_bytes"], 0);
  EXPECT_EQ(json["checked"]["comparisons"], 7);
  EXPECT_EQ(json["parameters"]["optimizer"], "adam");
  EXPECT_EQ(json["parameters"]["model_bytes"], 4 << 20);
}

TEST(WireReportTest, JsonStaysJsonWhateverTheNumbers) {
  WireReport report = Example();
  report.kinds[0].ratio.median = std::numeric_limits<double>::quiet_NaN();
  report.latency = {};
  const Json json = Json::parse(WireReportJson(report), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_TRUE(json["push_apply"]["ratio"].is_null());
  EXPECT_EQ(json["step_latency"]["steps"], 0);
}

TEST(WireReportTest, TextHasUnitsAndSpread) {
  const std::string text = WireReportText(Example());
  EXPECT_THAT(text, HasSubstr("1.50 GB/s (1.00-2.00)"));
  EXPECT_THAT(text, HasSubstr("0.50 (0.40-0.60)"));
  EXPECT_THAT(text, HasSubstr("1.50 and 1.50"));
  EXPECT_THAT(text, HasSubstr("10.0.0.2:7080"));
  EXPECT_THAT(text, HasSubstr("0.83 times"));
}

TEST(WireReportTest, LatencyThatWasNotMeasuredIsLeftOut) {
  WireReport report = Example();
  report.latency = {};
  EXPECT_THAT(WireReportText(report), Not(HasSubstr("one step")));
}

}  // namespace
}  // namespace selari
