#include "cli/run_recorder.h"

#include <cstdlib>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/posix_file_env.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

TrainProgress At(int64_t step) {
  TrainProgress progress;
  progress.step = step;
  progress.loss = 0.5;
  progress.accuracy = 0.25;
  return progress;
}

v1::Evaluation Evaluated(int64_t step) {
  v1::Evaluation evaluation;
  evaluation.set_step(step);
  evaluation.set_loss(2);
  evaluation.set_accuracy(0.75);
  return evaluation;
}

TEST(RunRecorderTest, WhatARegressionDoesNotHaveIsEmpty) {
  PosixFileEnv env;
  const std::string dir = absl::StrCat(std::getenv("TEST_TMPDIR"), "/regress");
  ASSERT_TRUE(env.CreateDirs(dir).ok());
  auto recorder = RunRecorder::Create(env, dir, 0);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  TrainProgress progress = At(300);
  progress.accuracy = std::nullopt;
  (*recorder)->OnStep(progress);
  v1::Evaluation evaluation = Evaluated(300);
  evaluation.clear_accuracy();
  (*recorder)->OnEvaluation(evaluation);
  ASSERT_TRUE((*recorder)->Close().ok());
  EXPECT_EQ(*ReadFile(env, absl::StrCat(dir, "/metrics.csv"), 1 << 20),
            "step,loss,accuracy,samples_per_second,test_loss,test_accuracy,"
            "test_auc\n300,0.5,,,,,\n300,,,,2,,\n");
}

TEST(RunRecorderTest, ARunThatGoesOnKeepsTheRowsOfItsFirstStep) {
  PosixFileEnv env;
  const std::string dir = absl::StrCat(::testing::TempDir(), "/goes-on");
  ASSERT_TRUE(env.CreateDirs(dir).ok());
  {
    const auto recorder = RunRecorder::Create(env, dir, 0);
    ASSERT_TRUE(recorder.ok()) << recorder.status();
    (*recorder)->OnStep(At(300));
    (*recorder)->OnEvaluation(Evaluated(300));
    (*recorder)->OnStep(At(310));
    ASSERT_TRUE((*recorder)->Close().ok());
  }
  const auto recorder = RunRecorder::Create(env, dir, 300);
  ASSERT_TRUE(recorder.ok()) << recorder.status();
  (*recorder)->OnEvaluation(Evaluated(300));  // which it knows already
  (*recorder)->OnStep(At(320));
  ASSERT_TRUE((*recorder)->Close().ok());
  // No rate was measured: the cell is empty.
  EXPECT_EQ(*ReadFile(env, absl::StrCat(dir, "/metrics.csv"), 1 << 20),
            "step,loss,accuracy,samples_per_second,test_loss,test_accuracy,"
            "test_auc\n"
            "300,0.5,0.25,,,,\n"
            "300,,,,2,0.75,\n"
            "320,0.5,0.25,,,,\n");
  // TensorBoard drops the points from the restart's step on: field 2, 301.
  const auto files = env.List(absl::StrCat(dir, "/tensorboard"));
  ASSERT_TRUE(files.ok());
  ASSERT_EQ(files->size(), 2u);
  int restarts = 0;
  for (const DirEntry& file : *files) {
    const auto bytes =
        ReadFile(env, absl::StrCat(dir, "/tensorboard/", file.name), 1 << 20);
    ASSERT_TRUE(bytes.ok());
    restarts += absl::StrContains(*bytes, "\x10\xad\x02") ? 1 : 0;
  }
  EXPECT_EQ(restarts, 1);
}

}  // namespace
}  // namespace selari
