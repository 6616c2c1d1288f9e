#include "cli/run_watcher.h"

#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

class RecordingView : public TrainView {
 public:
  void OnStart(const TrainStart&) override {}
  void OnNote(absl::string_view note) override { notes.emplace_back(note); }
  void OnProgress(const TrainProgress& p) override { progress.push_back(p); }
  void OnStep(const TrainProgress& p) override { steps.push_back(p); }
  void OnEvaluation(const v1::Evaluation& e) override {
    evaluations.push_back(e);
  }
  void OnCheckpoint(absl::string_view folder, int64_t) override {
    checkpoints.emplace_back(folder);
  }
  void OnSummary(const TrainSummary&) override {}

  std::vector<std::string> notes;
  std::vector<TrainProgress> progress;
  std::vector<TrainProgress> steps;
  std::vector<v1::Evaluation> evaluations;
  std::vector<std::string> checkpoints;
};

RunWatcher::Options Options(TrainView* view) {
  RunWatcher::Options options;
  options.view = view;
  options.output = "run";
  options.resume_command = "selari train job --resume";
  return options;
}

v1::JobStatus Running(int64_t step, int64_t samples) {
  v1::JobStatus status;
  status.set_state(v1::JOB_STATE_RUNNING);
  status.set_step(step);
  status.set_total_steps(100);
  v1::MemberStatus* worker = status.add_members();
  worker->set_kind(v1::MEMBER_KIND_WORKER);
  worker->set_joined(true);
  worker->mutable_totals()->set_samples(samples);
  worker->mutable_totals()->set_bytes_pushed(10 * step);
  return status;
}

void AddMetric(v1::JobStatus* status, int64_t step, double loss,
               double samples_per_second = 0) {
  v1::StepMetrics* metric = status->add_metrics();
  metric->set_step(step);
  metric->set_loss(loss);
  metric->set_samples(320);
  metric->set_samples_per_second(samples_per_second);
}

TEST(RunWatcherTest, EachMetricIsSeenOnceHoweverOftenItIsPolled) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus status = Running(10, 640);
  AddMetric(&status, 4, 2.0);
  AddMetric(&status, 9, 1.0);
  watcher.Observe(status, 1);
  watcher.Observe(status, 2);
  AddMetric(&status, 14, 0.5);
  watcher.Observe(status, 3);
  ASSERT_EQ(view.steps.size(), 3u);
  EXPECT_EQ(view.steps[0].step, 5);
  EXPECT_EQ(view.steps[2].loss, 0.5);
  EXPECT_EQ(view.progress.size(), 3u);
}

TEST(RunWatcherTest, RateAndTimeLeftCountFromTheFirstStepOfTraining) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus joining;
  joining.set_state(v1::JOB_STATE_JOINING);
  watcher.Observe(joining, 5);
  EXPECT_TRUE(view.progress.empty());
  watcher.Observe(Running(0, 0), 10);
  watcher.Observe(Running(20, 1280), 12);
  EXPECT_EQ(view.progress.back().samples_per_second, 640);
  EXPECT_EQ(view.progress.back().seconds_left, 8);
  EXPECT_EQ(view.progress.back().bytes_pushed, 200);
}

TEST(RunWatcherTest, WhatAWorkerDidBeforeTheLastOneJoinedDoesNotCount) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus waiting = Running(0, 32);  // Its part of step 0.
  waiting.add_members()->set_kind(v1::MEMBER_KIND_WORKER);
  watcher.Observe(Running(0, 0), 1);
  watcher.Observe(waiting, 2);
  watcher.Observe(waiting, 20);
  EXPECT_LT(view.progress.back().samples_per_second, 0);
  watcher.Observe(Running(0, 32), 21);  // Joined, and reads its data.
  watcher.Observe(Running(20, 1312), 23);
  EXPECT_EQ(view.progress.back().samples_per_second, 640);
  EXPECT_EQ(view.progress.back().seconds_left, 8);
  EXPECT_EQ(watcher.Summary("", 23).samples_per_second, 640);
}

TEST(RunWatcherTest, WithoutLockstepTrainingBeginsWhenTheLastWorkerJoins) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus ahead = Running(10, 640);  // ASYNC: it waits for nobody.
  ahead.add_members()->set_kind(v1::MEMBER_KIND_WORKER);
  watcher.Observe(Running(0, 0), 1);
  watcher.Observe(ahead, 20);
  watcher.Observe(Running(30, 1920), 22);
  EXPECT_EQ(watcher.Summary("", 22).samples_per_second, 640);
}

TEST(RunWatcherTest, AJobThatGoesBackKeepsItsSamplesAndItsTimeLeftIsNew) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  watcher.Observe(Running(0, 0), 0);
  watcher.Observe(Running(30, 1920), 2);
  watcher.Observe(Running(20, 1920), 4);
  watcher.Observe(Running(40, 3200), 6);
  EXPECT_EQ(view.progress.back().samples_per_second, 640);
  EXPECT_EQ(view.progress.back().seconds_left, 6);
  EXPECT_NEAR(watcher.Summary("", 6).samples_per_second, 3200 / 6.0, 1e-9);
}

TEST(RunWatcherTest, ALinesRateIsWhatTheWorkersMeasured) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  watcher.Observe(Running(0, 0), 100);
  v1::JobStatus status = Running(15, 960);
  AddMetric(&status, 4, 2.0, 320 / 10.0);  // took 10 s
  AddMetric(&status, 9, 1.0, 320 / 1.0);
  AddMetric(&status, 14, 0.5, 320 / 0.5);
  watcher.Observe(status, 100.1);  // All came at once.
  ASSERT_EQ(view.steps.size(), 3u);
  EXPECT_EQ(view.steps[0].samples_per_second, 32);
  EXPECT_EQ(view.steps[1].samples_per_second, 320);
  EXPECT_EQ(view.steps[2].samples_per_second, 640);
}

TEST(RunWatcherTest, ALineOfAMomentHasTheRateOfHalfASecond) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus status = Running(15, 960);
  AddMetric(&status, 4, 2.0, 320 / 4.0);
  AddMetric(&status, 9, 1.0, 320 / 0.5);
  AddMetric(&status, 14, 0.5, 320 / 0.01);  // The last few steps raced.
  watcher.Observe(status, 5);
  ASSERT_EQ(view.steps.size(), 3u);
  EXPECT_NEAR(view.steps[1].samples_per_second, 640, 1e-6);
  EXPECT_NEAR(view.steps[2].samples_per_second, 640 / 0.51, 1e-6);
}

TEST(RunWatcherTest, ALineThatNobodyMeasuredHasTheRateOfTheProgress) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  watcher.Observe(Running(0, 0), 0);
  v1::JobStatus status = Running(5, 320);
  AddMetric(&status, 4, 2.0);
  watcher.Observe(status, 0.2);
  status = Running(10, 640);
  AddMetric(&status, 9, 1.0);
  watcher.Observe(status, 2);
  ASSERT_EQ(view.steps.size(), 2u);
  EXPECT_LT(view.steps[0].samples_per_second, 0);
  EXPECT_EQ(view.steps[1].samples_per_second, 320);
}

TEST(RunWatcherTest, NoRateIsTakenOverAMoment) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  watcher.Observe(Running(0, 0), 10);
  watcher.Observe(Running(20, 1280), 10.1);
  EXPECT_LT(view.progress.back().samples_per_second, 0);
  EXPECT_LT(view.progress.back().seconds_left, 0);
  EXPECT_LT(watcher.Summary("", 10.1).samples_per_second, 0);
  watcher.Observe(Running(30, 1920), 11.5);
  EXPECT_EQ(view.progress.back().samples_per_second, 1280);
  EXPECT_EQ(watcher.Summary("", 12).samples_per_second, 1280);
}

TEST(RunWatcherTest, TheRateOfAShortRunIsWhatTheWorkersMeasured) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  watcher.Observe(Running(0, 0), 10);
  v1::JobStatus status = Running(10, 640);
  AddMetric(&status, 4, 2.0, 3200);
  AddMetric(&status, 9, 1.0, 1600);
  watcher.Observe(status, 10.1);
  EXPECT_NEAR(watcher.Summary("", 10.1).samples_per_second, 640 / 0.3, 1e-6);
}

TEST(RunWatcherTest, TimeLeftComesFromTheRecentRate) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  watcher.Observe(Running(0, 0), 0);
  for (int i = 1; i <= 50; ++i) {  // one step each 2 s
    watcher.Observe(Running(i, 64 * i), 2.0 * i);
  }
  for (int i = 51; i <= 90; ++i) {  // then 4 a second
    watcher.Observe(Running(i, 64 * i), 100 + 0.25 * (i - 50));
  }
  EXPECT_EQ(view.progress.back().samples_per_second, 256);
  EXPECT_EQ(view.progress.back().seconds_left, 2.5);
}

TEST(RunWatcherTest, WhatIsSeenOnlyAtItsEndHasARateAndNoTimeLeft) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus status = Running(100, 6400);
  status.set_state(v1::JOB_STATE_DONE);
  AddMetric(&status, 49, 1.0);
  AddMetric(&status, 99, 0.5);
  watcher.Observe(status, 2);
  ASSERT_EQ(view.steps.size(), 2u);
  EXPECT_GT(view.steps[0].samples_per_second, 0);
  EXPECT_LT(view.steps[0].seconds_left, 0);
  EXPECT_EQ(watcher.Summary("", 3).samples_per_second, 3200);
}

TEST(RunWatcherTest, TheCheckpointThatARunGoesOnFromIsNoNews) {
  RecordingView view;
  RunWatcher::Options options = Options(&view);
  options.resume_checkpoint = "run/checkpoints/step-000000040";
  RunWatcher watcher(options);
  v1::JobStatus status = Running(40, 0);
  status.set_checkpoint("run/checkpoints/step-000000040");
  watcher.Observe(status, 1);
  EXPECT_TRUE(view.checkpoints.empty());
  status.set_checkpoint("run/checkpoints/step-000000050");
  watcher.Observe(status, 2);
  EXPECT_EQ(view.checkpoints.size(), 1u);
}

TEST(RunWatcherTest, WhatFailedSaysHowToGoOnIfSomethingWasSaved) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus status = Running(40, 2560);
  watcher.Observe(status, 1);
  EXPECT_EQ(watcher.Summary("worker 1 is lost", 2).resume_command, "");
  status.set_checkpoint("run/checkpoints/step-000000030");
  watcher.Observe(status, 2);
  EXPECT_EQ(watcher.Summary("worker 1 is lost", 3).resume_command,
            "selari train job --resume");
  status.set_state(v1::JOB_STATE_DONE);
  watcher.Observe(status, 3);
  EXPECT_EQ(watcher.Summary("", 4).resume_command, "");
}

TEST(RunWatcherTest, TheSummaryHoldsTheLastEvaluationAndCheckpoint) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus status = Running(100, 6400);
  status.set_state(v1::JOB_STATE_DONE);
  status.set_checkpoint("run/checkpoints/step-000000000100");
  status.set_checkpoint_digest("abc");
  v1::Evaluation* evaluation = status.add_evaluations();
  evaluation->set_step(100);
  evaluation->set_accuracy(0.9);
  watcher.Observe(Running(0, 0), 1);
  watcher.Observe(status, 11);
  const TrainSummary summary = watcher.Summary("", 11);
  EXPECT_EQ(summary.state, v1::JOB_STATE_DONE);
  EXPECT_EQ(summary.digest, "abc");
  EXPECT_EQ(summary.test.accuracy(), 0.9);
  EXPECT_EQ(summary.samples_per_second, 640);
  EXPECT_EQ(view.checkpoints.size(), 1u);
  EXPECT_EQ(view.evaluations.size(), 1u);
}

TEST(RunWatcherTest, AStoppedRunHasTheStepsOfItsCheckpoint) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  v1::JobStatus status = Running(100, 6400);
  status.set_state(v1::JOB_STATE_STOPPED);
  watcher.Observe(status, 1);
  EXPECT_EQ(watcher.Summary("", 2).steps, 100);
  status.set_checkpoint("run/checkpoints/step-000000099");
  status.set_checkpoint_step(99);
  watcher.Observe(status, 3);
  EXPECT_EQ(watcher.Summary("", 4).steps, 99);
}

TEST(RunWatcherTest, AnErrorFromOutsideMakesTheRunFailed) {
  RecordingView view;
  RunWatcher watcher(Options(&view));
  watcher.Observe(Running(3, 10), 1);
  const TrainSummary summary = watcher.Summary("server 1 ended", 2);
  EXPECT_EQ(summary.state, v1::JOB_STATE_FAILED);
  EXPECT_EQ(summary.message, "server 1 ended");
}

}  // namespace
}  // namespace selari
