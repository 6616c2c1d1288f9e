#include "server/shard/optimizer/optimizer_options_from_job.h"

#include <cstdint>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr int64_t kTotalSteps = 100;

v1::Job Parse(const std::string& text) {
  v1::Job job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &job))
      << text;
  return job;
}

OptimizerOptions Convert(const std::string& text) {
  return OptimizerOptionsFromJob(Parse(text), kTotalSteps).value();
}

void ExpectRefused(const std::string& text, int64_t total_steps,
                   const std::string& message) {
  const absl::Status status =
      OptimizerOptionsFromJob(Parse(text), total_steps).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
  EXPECT_EQ(std::string(status.message()), message);
}

TEST(OptimizerOptionsFromJobTest, FieldsThatAreNotSetHaveTheirDefaults) {
  const OptimizerOptions options =
      Convert("optimizer { adam {} learning_rate: 0.01 }");
  const AdamOptions& adam = std::get<AdamOptions>(options.algorithm);
  EXPECT_EQ(adam.beta1, 0.9);
  EXPECT_EQ(adam.beta2, 0.999);
  EXPECT_EQ(adam.epsilon, 1e-8);
  EXPECT_EQ(options.learning_rate, 0.01);
  EXPECT_TRUE(
      std::holds_alternative<ConstantScheduleOptions>(options.schedule.kind));
}

TEST(OptimizerOptionsFromJobTest, EachAlgorithmIsRead) {
  const auto algorithm = [](const std::string& text) {
    return Convert("optimizer { " + text + " learning_rate: 1 }").algorithm;
  };
  const auto sgd = algorithm("sgd { momentum: 0.5 nesterov: true }");
  EXPECT_EQ(std::get<SgdOptions>(sgd).momentum, 0.5);
  EXPECT_TRUE(std::get<SgdOptions>(sgd).nesterov);
  const auto adagrad = algorithm("adagrad { initial_accumulator: 0.1 }");
  EXPECT_EQ(std::get<AdagradOptions>(adagrad).initial_accumulator, 0.1);
  EXPECT_EQ(std::get<AdagradOptions>(adagrad).epsilon, 1e-10);
  const auto rms_prop = algorithm("rms_prop { alpha: 0 momentum: 0.5 }");
  EXPECT_EQ(std::get<RmsPropOptions>(rms_prop).alpha, 0);
  EXPECT_EQ(std::get<RmsPropOptions>(rms_prop).momentum, 0.5);
  const auto adam_w = algorithm("adam_w { beta1: 0 beta2: 0.5 }");
  EXPECT_EQ(std::get<AdamWOptions>(adam_w).beta1, 0);
  EXPECT_EQ(std::get<AdamWOptions>(adam_w).beta2, 0.5);
  const auto lamb = algorithm("lamb {}");
  EXPECT_EQ(std::get<LambOptions>(lamb).epsilon, 1e-6);
}

TEST(OptimizerOptionsFromJobTest, ScheduleLastsToTheEndOfTheJob) {
  const OptimizerOptions cosine = Convert(
      "optimizer { sgd {} learning_rate: 1 "
      "schedule { warmup_steps: 10 cosine { final_factor: 0.1 } } }");
  EXPECT_EQ(cosine.schedule.warmup_steps, 10);
  const auto& kind = std::get<CosineScheduleOptions>(cosine.schedule.kind);
  EXPECT_EQ(kind.total_steps, 90);
  EXPECT_EQ(kind.final_factor, 0.1);
  const OptimizerOptions polynomial = Convert(
      "optimizer { sgd {} learning_rate: 1 "
      "schedule { polynomial { total_steps: 7 } } }");
  const auto& linear =
      std::get<PolynomialScheduleOptions>(polynomial.schedule.kind);
  EXPECT_EQ(linear.total_steps, 7);
  EXPECT_EQ(linear.power, 1);
}

TEST(OptimizerOptionsFromJobTest, WorkersClipByNormOutsideSync) {
  const std::string optimizer =
      "optimizer { sgd {} learning_rate: 1 clip_value: 2 clip_global_norm: 3 }";
  EXPECT_EQ(Convert(optimizer).clip_global_norm, 3);
  const OptimizerOptions async =
      Convert(optimizer + " consistency { mode: CONSISTENCY_ASYNC }");
  EXPECT_EQ(async.clip_global_norm, 0);
  EXPECT_EQ(async.clip_value, 2);
}

TEST(OptimizerOptionsFromJobTest, WhatCannotBeIsRefused) {
  ExpectRefused("optimizer { learning_rate: 1 }", kTotalSteps,
                "optimizer has no algorithm, must have one of sgd, adagrad, "
                "rms_prop, adam, adam_w and lamb");
  ExpectRefused("optimizer { adam { epsilon: 0 } learning_rate: 1 }",
                kTotalSteps,
                "optimizer.adam.epsilon is 0, must be in [1e-30, 1]");
  ExpectRefused(
      "optimizer { lamb {} learning_rate: 1 } "
      "consistency { mode: CONSISTENCY_ASYNC }",
      kTotalSteps,
      "consistency.mode is CONSISTENCY_ASYNC, must be CONSISTENCY_SYNC with "
      "optimizer.lamb: its trust ratios need all shards at the same step");
}

TEST(OptimizerOptionsFromJobTest, ScheduleWithoutAnEndIsRefused) {
  const std::string cosine =
      "optimizer { sgd {} learning_rate: 1 "
      "schedule { warmup_steps: 10 cosine {} } }";
  ExpectRefused(cosine, 0,
                "optimizer.schedule.cosine.total_steps is 0, which means the "
                "job's last step, but the job has none: set it, or "
                "training.steps");
  ExpectRefused(cosine, 10,
                "optimizer.schedule.warmup_steps is 10, must be below the "
                "job's 10 steps");
}

}  // namespace
}  // namespace selari
