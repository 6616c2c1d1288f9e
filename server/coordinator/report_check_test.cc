#include "server/coordinator/report_check.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(CheckReportTest, NumbersThatCanBeTrueAreTaken) {
  v1::ReportProgressRequest report;
  EXPECT_TRUE(CheckReport(report).ok());
  report.set_step(int64_t{1} << 52);
  report.add_steps()->set_sample_count(64);
  report.add_evaluations()->set_step(7);
  report.mutable_totals()->set_bytes_pushed(int64_t{1} << 40);
  EXPECT_TRUE(CheckReport(report).ok());
}

TEST(CheckReportTest, OthersAreNamed) {
  v1::ReportProgressRequest report;
  report.set_worker_id(3);
  report.set_step(-1);
  EXPECT_EQ(CheckReport(report),
            absl::InvalidArgumentError(
                "worker 3 reports step -1, must be in [0, 2^52]"));
  report.set_step(0);
  report.add_steps();
  report.add_steps()->set_step(kMost);
  EXPECT_EQ(CheckReport(report).message(),
            "worker 3 reports steps.step 9223372036854775807, must be in "
            "[0, 2^52]");
  report.clear_steps();
  report.add_steps()->set_sample_count(-5);
  EXPECT_FALSE(CheckReport(report).ok());
  report.clear_steps();
  report.add_evaluations()->set_step(kMost);
  EXPECT_FALSE(CheckReport(report).ok());
  report.clear_evaluations();
  report.mutable_totals()->set_bytes_pulled(-7);
  EXPECT_FALSE(CheckReport(report).ok());
}

}  // namespace
}  // namespace selari
