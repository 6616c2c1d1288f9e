#include "server/coordinator/job_progress.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

v1::ReportProgressRequest Report(int32_t worker, int64_t step) {
  v1::ReportProgressRequest report;
  report.set_worker_id(worker);
  report.set_step(step);
  return report;
}

v1::ReportProgressRequest Window(int32_t worker, int64_t last_step,
                                 double loss_sum, int64_t correct,
                                 int64_t samples) {
  v1::ReportProgressRequest report = Report(worker, last_step + 1);
  v1::StepSums* sums = report.add_steps();
  sums->set_step(last_step);
  sums->set_loss_sum(loss_sum);
  sums->set_correct_count(correct);
  sums->set_sample_count(samples);
  return report;
}

v1::JobStatus Describe(const JobProgress& progress) {
  v1::JobStatus status;
  progress.Describe(&status);
  return status;
}

TEST(JobProgressTest, WindowAppearsWhenAllWorkersReportedIt) {
  JobProgress progress(2, 0);
  progress.Report(Window(1, 9, 30, 6, 10));
  EXPECT_EQ(Describe(progress).metrics_size(), 0);
  progress.Report(Window(0, 9, 10, 4, 10));
  const v1::JobStatus status = Describe(progress);
  ASSERT_EQ(status.metrics_size(), 1);
  EXPECT_EQ(status.metrics(0).step(), 9);
  EXPECT_EQ(status.metrics(0).loss(), 2.0);
  EXPECT_EQ(status.metrics(0).accuracy(), 0.5);
  EXPECT_EQ(status.metrics(0).samples(), 20);
}

TEST(JobProgressTest, WorkersRatesAddUpIfAllMeasured) {
  JobProgress progress(2, 0);
  v1::ReportProgressRequest first = Window(0, 9, 10, 4, 10);
  first.mutable_steps(0)->set_elapsed_us(500'000);
  v1::ReportProgressRequest second = Window(1, 9, 30, 6, 30);
  second.mutable_steps(0)->set_elapsed_us(1'000'000);
  progress.Report(first);
  progress.Report(second);
  first = Window(0, 19, 10, 4, 10);
  first.mutable_steps(0)->set_elapsed_us(500'000);
  progress.Report(first);
  progress.Report(Window(1, 19, 30, 6, 30));
  const v1::JobStatus status = Describe(progress);
  ASSERT_EQ(status.metrics_size(), 2);
  EXPECT_EQ(status.metrics(0).samples_per_second(), 50);
  EXPECT_EQ(status.metrics(1).samples_per_second(), 0);
}

TEST(JobProgressTest, ARegressionHasNoAccuracy) {
  JobProgress progress(1, 0, /*counts_correct=*/false);
  progress.Report(Window(0, 9, 30, 0, 10));
  ASSERT_EQ(Describe(progress).metrics_size(), 1);
  EXPECT_FALSE(Describe(progress).metrics(0).has_accuracy());
}

TEST(JobProgressTest, WorkerWithoutSamplesIsNotWaitedFor) {
  JobProgress progress(2, 0);
  progress.Report(Report(1, 100));
  progress.Report(Window(0, 9, 10, 4, 10));
  EXPECT_EQ(Describe(progress).metrics_size(), 1);
}

TEST(JobProgressTest, RepeatedReportChangesNothing) {
  JobProgress progress(2, 0);
  progress.Report(Window(0, 9, 10, 4, 10));
  progress.Report(Window(0, 9, 10, 4, 10));
  EXPECT_EQ(Describe(progress).metrics_size(), 0);
  progress.Report(Window(1, 9, 30, 6, 10));
  progress.Report(Window(1, 9, 30, 6, 10));
  const v1::JobStatus status = Describe(progress);
  ASSERT_EQ(status.metrics_size(), 1);
  EXPECT_EQ(status.metrics(0).samples(), 20);
}

TEST(JobProgressTest, SumsDoNotDependOnTheOrderOfReports) {
  // 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in double.
  const double loss[] = {0.1, 0.2, 0.3};
  JobProgress forward(3, 0);
  JobProgress backward(3, 0);
  for (int32_t i = 0; i < 3; ++i) {
    forward.Report(Window(i, 9, loss[i], 0, 1));
    backward.Report(Window(2 - i, 9, loss[2 - i], 0, 1));
  }
  EXPECT_EQ(Describe(forward).metrics(0).loss(),
            Describe(backward).metrics(0).loss());
}

TEST(JobProgressTest, StepIsTheSlowestWorkers) {
  JobProgress progress(2, 5);
  EXPECT_EQ(progress.step(), 5);
  progress.Report(Report(0, 9));
  EXPECT_EQ(progress.step(), 5);
  progress.Report(Report(1, 7));
  EXPECT_EQ(progress.step(), 7);
}

TEST(JobProgressTest, FinishedWhenAllAre) {
  JobProgress progress(2, 0);
  v1::ReportProgressRequest report = Report(0, 9);
  report.set_finished(true);
  progress.Report(report);
  EXPECT_FALSE(progress.all_finished());
  report.set_worker_id(1);
  progress.Report(report);
  EXPECT_TRUE(progress.all_finished());
  progress.OnWorkerJoined(1, 78);
  EXPECT_FALSE(progress.all_finished());
}

TEST(JobProgressTest, AWorkerThatDoesNotCountHasNoTotals) {
  JobProgress progress(1, 0);
  progress.Report(Report(0, 9));
  EXPECT_FALSE(progress.worker(0).totals.has_value());
  v1::ReportProgressRequest report = Report(0, 10);
  report.mutable_totals();
  progress.Report(report);
  EXPECT_TRUE(progress.worker(0).totals.has_value());
}

TEST(JobProgressTest, TotalsAreOfAllLivesOfAWorker) {
  JobProgress progress(2, 0);
  v1::ReportProgressRequest report = Report(1, 9);
  const auto report_samples = [&](int64_t samples) {
    report.mutable_totals()->set_samples(samples);
    report.mutable_totals()->set_bytes_pulled(2 * samples);
    progress.Report(report);
    return progress.worker(1).totals->samples();
  };
  progress.OnWorkerJoined(1, 77);
  EXPECT_EQ(report_samples(100), 100);
  progress.OnWorkerJoined(1, 77);
  EXPECT_EQ(report_samples(110), 110) << "the same life goes on";
  progress.OnWorkerJoined(1, 78);
  EXPECT_EQ(progress.worker(1).totals->samples(), 110);
  EXPECT_EQ(report_samples(5), 115);
  progress.OnWorkerJoined(1, 79);
  EXPECT_EQ(report_samples(1), 116);
  EXPECT_EQ(progress.worker(1).totals->bytes_pulled(), 232);
}

TEST(JobProgressTest, KeepsTheNewestOnly) {
  JobProgress progress(1, 0);
  for (int64_t step = 0; step < 300; ++step) {
    v1::ReportProgressRequest report = Window(0, step, 1, 1, 1);
    report.add_evaluations()->set_step(step);
    progress.Report(report);
    progress.Report(report);
  }
  const v1::JobStatus status = Describe(progress);
  ASSERT_EQ(status.metrics_size(), 256);
  EXPECT_EQ(status.metrics(0).step(), 44);
  EXPECT_EQ(status.metrics(255).step(), 299);
  EXPECT_EQ(status.evaluations_size(), 256);
}

TEST(JobProgressTest, OpenWindowsAreBounded) {
  JobProgress progress(2, 0);
  for (int64_t step = 0; step < 1000; ++step) {
    progress.Report(Window(0, step, 1, 1, 1));
  }
  EXPECT_EQ(Describe(progress).metrics_size(), 256);
}

// The gradients of its last step were refused: the weights do not have it.
TEST(JobProgressTest, WhatIsPastTheEndDoesNotCount) {
  JobProgress progress(2, 0);
  for (const int32_t worker : {0, 1}) {
    progress.Report(Window(worker, 9, 10, 4, 10));
    progress.Report(Window(worker, 10, 10, 4, 10));
  }
  EXPECT_EQ(Describe(progress).step(), 11);
  progress.EndAt(10, /*all_workers_alike=*/true);
  for (const bool reported_again : {false, true}) {
    const v1::JobStatus status = Describe(progress);
    EXPECT_EQ(status.step(), 10);
    EXPECT_EQ(progress.worker(1).step, 10);
    ASSERT_EQ(status.metrics_size(), 1);
    EXPECT_EQ(status.metrics(0).step(), 9);
    if (!reported_again) {
      progress.Report(Window(0, 11, 10, 4, 10));
      progress.Report(Window(1, 11, 10, 4, 10));
    }
  }
}

TEST(JobProgressTest, AtTheEndAWorkerMayBeFurtherUnlessAllAreAlike) {
  JobProgress progress(2, 0);
  progress.Report(Window(0, 12, 10, 4, 10));
  progress.Report(Report(0, 20));
  progress.Report(Report(1, 14));
  EXPECT_EQ(Describe(progress).metrics_size(), 1);
  progress.EndAt(12, /*all_workers_alike=*/false);
  EXPECT_EQ(Describe(progress).step(), 12);
  EXPECT_EQ(Describe(progress).metrics_size(), 0) << "its step is past the end";
  EXPECT_EQ(progress.worker(0).step, 20);
}

TEST(JobProgressTest, RolledBackWorkIsDoneAgain) {
  JobProgress progress(2, 0);
  for (const int64_t last : {9, 19}) {
    progress.Report(Window(0, last, 10, 4, 10));
    progress.Report(Window(1, last, 30, 6, 10));
  }
  progress.Report(Window(0, 29, 10, 4, 10));
  v1::ReportProgressRequest end = Report(0, 40);
  end.set_finished(true);
  v1::Evaluation* evaluation = end.add_evaluations();
  evaluation->set_step(10);
  end.add_evaluations()->set_step(20);
  progress.Report(end);

  progress.RollBack(10);

  EXPECT_EQ(progress.step(), 10);
  EXPECT_FALSE(progress.worker(0).finished);
  v1::JobStatus status = Describe(progress);
  ASSERT_EQ(status.metrics_size(), 1);
  EXPECT_EQ(status.metrics(0).step(), 9);
  ASSERT_EQ(status.evaluations_size(), 1);
  EXPECT_EQ(status.evaluations(0).step(), 10);
  progress.Report(Window(0, 19, 20, 4, 10));
  EXPECT_EQ(Describe(progress).metrics_size(), 1) << "of worker 0 alone";
  progress.Report(Window(1, 19, 60, 6, 10));
  status = Describe(progress);
  ASSERT_EQ(status.metrics_size(), 2);
  EXPECT_EQ(status.metrics(1).loss(), 4.0);
}

}  // namespace
}  // namespace selari
