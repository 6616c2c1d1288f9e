#include "cli/bench/rate_cases.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A case that gives these rates, the first to warm up, and notes its turns.
RateCase Fixed(const std::string& name, RateUnit unit,
               std::vector<double> rates, std::vector<std::string>* turns) {
  return {
      name, unit,
      [name, rates, turns, i = size_t{0}]() mutable -> absl::StatusOr<double> {
        turns->push_back(name);
        return rates[i++];
      }};
}

TEST(RateCasesTest, TurnsRotateAndTheFirstRoundDoesNotCount) {
  std::vector<std::string> turns;
  RateReport report;
  const absl::Status status = MeasureInTurns(
      {Fixed("limit", RateUnit::kBytes, {1, 100, 100, 200}, &turns)},
      {Fixed("a", RateUnit::kBytes, {1, 50, 60, 70}, &turns)}, 3, &report);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_THAT(turns, ElementsAre("limit", "a", "a", "limit", "limit", "a", "a",
                                 "limit"));
  ASSERT_EQ(report.results.size(), 1u);
  EXPECT_EQ(report.results[0].rate.median, 60);
  EXPECT_EQ(report.results[0].ratio.median, 0.6);
  EXPECT_EQ(report.results[0].ratio.min, 0.35);
  EXPECT_EQ(report.results[0].ratio.max, 0.6);
}

TEST(RateCasesTest, EachUnitHasItsLimit) {
  std::vector<std::string> turns;
  RateReport report;
  report.group = "kernels";
  ASSERT_TRUE(
      MeasureInTurns({Fixed("memcpy", RateUnit::kBytes, {1, 10}, &turns),
                      Fixed("fma", RateUnit::kFlops, {1, 1000}, &turns)},
                     {Fixed("product", RateUnit::kFlops, {1, 500}, &turns)}, 1,
                     &report)
          .ok());
  EXPECT_EQ(report.results[0].ratio.median, 0.5);
  const auto json =
      nlohmann::json::parse(RateReportJson(report), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["limits"]["memcpy"]["bytes_per_second"], 10);
  EXPECT_EQ(json["kernels"]["product"]["flops_per_second"], 500);
  EXPECT_EQ(json["kernels"]["product"]["ratio"], 0.5);
  EXPECT_EQ(json["parameters"]["repeats"], 1);
  EXPECT_THAT(RateReportText(report), HasSubstr("Gflop/s"));
}

TEST(RateCasesTest, ErrorsEndIt) {
  RateReport report;
  const RateCase bad = {
      "bad", RateUnit::kBytes,
      [] { return absl::StatusOr<double>(absl::InternalError("no")); }};
  EXPECT_EQ(MeasureInTurns({bad}, {}, 1, &report), absl::InternalError("no"));
  EXPECT_EQ(
      MeasureRate(1, 0, [] { return absl::InternalError("no"); }).status(),
      absl::InternalError("no"));
}

TEST(RateCasesTest, LimitsAreMeasured) {
  for (const RateCase& limit : {MemcpyLimit(1 << 20, 2), MultiplyAddLimit()}) {
    const auto rate = limit.measure();
    ASSERT_TRUE(rate.ok());
    EXPECT_GT(*rate, 0);
  }
}

}  // namespace
}  // namespace selari
