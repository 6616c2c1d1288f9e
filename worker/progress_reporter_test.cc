#include "worker/progress_reporter.h"

#include <memory>
#include <vector>

#include "common/fake_clock.h"
#include "common/fake_coordinator_client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;

class ProgressReporterTest : public ::testing::Test {
 protected:
  ProgressReporterTest() {
    options_.client = &client_;
    options_.clock = &clock_;
    options_.worker_id = 1;
    options_.incarnation = 201;
    options_.end_step = 25;
    options_.log_every_steps = 10;
    options_.interval_ms = 3'600'000;  // Only Finish reports.
    options_.log = [](absl::string_view) {};
    client_.on_report_progress = [this](const v1::ReportProgressRequest& report)
        -> absl::StatusOr<v1::ReportProgressResponse> {
      if (failures_left_ > 0) {
        --failures_left_;
        return absl::UnavailableError("away");
      }
      reports_.push_back(report);
      return v1::ReportProgressResponse();
    };
  }

  absl::Status RunSteps() {
    reporter_ = std::make_unique<ProgressReporter>(options_);
    for (int64_t step = options_.first_step; step < options_.end_step;
         step += options_.stride) {
      StepReport report;
      report.step = step;
      report.loss_sum = 1.0;
      report.sample_count = 2;
      report.compute_us = 3;
      report.elapsed_us = 5;
      absl::Status status = reporter_->OnStep(report);
      if (!status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  static std::vector<int64_t> WindowSteps(
      const v1::ReportProgressRequest& report) {
    std::vector<int64_t> steps;
    for (const v1::StepSums& sums : report.steps()) {
      steps.push_back(sums.step());
    }
    return steps;
  }

  FakeClock clock_;
  FakeCoordinatorClient client_;
  int failures_left_ = 0;
  std::vector<v1::ReportProgressRequest> reports_;
  ProgressReporter::Options options_;
  std::unique_ptr<ProgressReporter> reporter_;
};

TEST_F(ProgressReporterTest, LastReportIsRepeatedUntilTheCoordinatorHasIt) {
  failures_left_ = 2;
  ASSERT_TRUE(RunSteps().ok());
  EXPECT_TRUE(reporter_->Finish({true, "", 1000}).ok());
  ASSERT_EQ(reports_.size(), 1u);
  EXPECT_TRUE(reports_[0].finished());
  EXPECT_TRUE(reports_[0].leaving());
}

TEST_F(ProgressReporterTest, ReportsWindowsAndTotals) {
  ASSERT_TRUE(RunSteps().ok());
  EXPECT_TRUE(reporter_->Finish({true, "", 1000}).ok());
  const v1::ReportProgressRequest& report = reports_[0];
  EXPECT_EQ(report.worker_id(), 1);
  EXPECT_EQ(report.incarnation(), 201u);
  EXPECT_EQ(report.step(), 25);
  EXPECT_THAT(WindowSteps(report), ElementsAre(9, 19, 24));
  EXPECT_EQ(report.steps(0).loss_sum(), 10.0);
  EXPECT_EQ(report.steps(2).sample_count(), 10);
  EXPECT_EQ(report.steps(0).elapsed_us(), 50);
  EXPECT_EQ(report.steps(2).elapsed_us(), 25);
  EXPECT_EQ(report.totals().samples(), 50);
  EXPECT_EQ(report.totals().compute_us(), 75);
}

TEST_F(ProgressReporterTest, TotalsGoOnFromTheTryBefore) {
  options_.before.set_samples(1000);
  options_.before.set_compute_us(500);
  options_.before.set_bytes_pushed(64);
  ASSERT_TRUE(RunSteps().ok());
  EXPECT_TRUE(reporter_->Finish({true, "", 1000}).ok());
  EXPECT_EQ(reports_[0].totals().samples(), 1050);
  EXPECT_EQ(reports_[0].totals().compute_us(), 575);
  EXPECT_EQ(reports_[0].totals().bytes_pushed(), 64);
}

TEST_F(ProgressReporterTest, StridedWorkerReportsTheJobsSteps) {
  options_.first_step = 1;
  options_.stride = 3;
  options_.end_step = 21;
  ASSERT_TRUE(RunSteps().ok());  // 1, 4, 7 | 10, 13, 16, 19
  EXPECT_EQ(reporter_->step(), 21);
  EXPECT_TRUE(reporter_->Finish({false, "", 1000}).ok());
  EXPECT_THAT(WindowSteps(reports_[0]), ElementsAre(9, 19));
  EXPECT_EQ(reports_[0].steps(1).sample_count(), 8);
}

TEST_F(ProgressReporterTest, CheckEndsTheSteps) {
  options_.check = [] { return absl::CancelledError("told to stop"); };
  EXPECT_EQ(RunSteps().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(reporter_->step(), 1);
}

TEST_F(ProgressReporterTest, ErrorIsReported) {
  ASSERT_TRUE(RunSteps().ok());
  EXPECT_TRUE(reporter_->Finish({false, "loss is NaN at step 7", 1000}).ok());
  EXPECT_EQ(reports_[0].error(), "loss is NaN at step 7");
  EXPECT_FALSE(reports_[0].finished());
}

}  // namespace
}  // namespace selari
