#include "server/shard/optimizer/optimizer_options.h"

#include <cmath>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

template <class Algorithm>
OptimizerOptions Valid() {
  OptimizerOptions options;
  options.algorithm = Algorithm();
  options.learning_rate = 0.1;
  return options;
}

void ExpectRefused(const OptimizerOptions& options,
                   const std::string& message) {
  const absl::Status status = ValidateOptimizerOptions(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()), message);
}

TEST(OptimizerOptionsTest, DefaultsOfEachAlgorithmAreValid) {
  EXPECT_TRUE(ValidateOptimizerOptions(Valid<SgdOptions>()).ok());
  EXPECT_TRUE(ValidateOptimizerOptions(Valid<AdagradOptions>()).ok());
  EXPECT_TRUE(ValidateOptimizerOptions(Valid<RmsPropOptions>()).ok());
  EXPECT_TRUE(ValidateOptimizerOptions(Valid<AdamOptions>()).ok());
  EXPECT_TRUE(ValidateOptimizerOptions(Valid<AdamWOptions>()).ok());
  EXPECT_TRUE(ValidateOptimizerOptions(Valid<LambOptions>()).ok());
}

TEST(OptimizerOptionsTest, LearningRateMustBeAboveZero) {
  OptimizerOptions options = Valid<SgdOptions>();
  options.learning_rate = 0;
  ExpectRefused(options, "optimizer.learning_rate is 0, must be in (0, 1e+06]");
  options.learning_rate = std::nan("");
  ExpectRefused(options,
                "optimizer.learning_rate is nan, must be in (0, 1e+06]");
}

TEST(OptimizerOptionsTest, DecayAndClippingMustNotBeNegative) {
  OptimizerOptions options = Valid<SgdOptions>();
  options.weight_decay = -0.1;
  ExpectRefused(options,
                "optimizer.weight_decay is -0.1, must be in [0, 1e+06]");
  options = Valid<SgdOptions>();
  options.clip_value = -1;
  ExpectRefused(options, "optimizer.clip_value is -1, must be in [0, 1e+30]");
  options = Valid<SgdOptions>();
  options.clip_global_norm = INFINITY;
  ExpectRefused(options,
                "optimizer.clip_global_norm is inf, must be in [0, 1e+30]");
}

TEST(OptimizerOptionsTest, FieldsOfTheAlgorithmAreNamedWithIt) {
  OptimizerOptions options = Valid<SgdOptions>();
  std::get<SgdOptions>(options.algorithm).momentum = 1;
  ExpectRefused(options, "optimizer.sgd.momentum is 1, must be in [0, 1)");
  options = Valid<AdamOptions>();
  std::get<AdamOptions>(options.algorithm).beta1 = 1.5;
  ExpectRefused(options, "optimizer.adam.beta1 is 1.5, must be in [0, 1)");
  options = Valid<AdamWOptions>();
  std::get<AdamWOptions>(options.algorithm).epsilon = 0;
  ExpectRefused(options,
                "optimizer.adam_w.epsilon is 0, must be in [1e-30, 1]");
  options = Valid<LambOptions>();
  std::get<LambOptions>(options.algorithm).beta2 = -1;
  ExpectRefused(options, "optimizer.lamb.beta2 is -1, must be in [0, 1)");
  options = Valid<RmsPropOptions>();
  std::get<RmsPropOptions>(options.algorithm).alpha = 1;
  ExpectRefused(options, "optimizer.rms_prop.alpha is 1, must be in [0, 1)");
  options = Valid<AdagradOptions>();
  std::get<AdagradOptions>(options.algorithm).initial_accumulator = -1;
  ExpectRefused(
      options,
      "optimizer.adagrad.initial_accumulator is -1, must be in [0, 1e+06]");
}

TEST(OptimizerOptionsTest, NesterovNeedsMomentum) {
  OptimizerOptions options = Valid<SgdOptions>();
  std::get<SgdOptions>(options.algorithm).nesterov = true;
  ExpectRefused(options,
                "optimizer.sgd.nesterov is true but optimizer.sgd.momentum is "
                "0, must be in (0, 1)");
}

TEST(OptimizerOptionsTest, FieldsOfTheScheduleAreNamedWithIt) {
  OptimizerOptions options = Valid<SgdOptions>();
  options.schedule.warmup_steps = -1;
  ExpectRefused(options,
                "optimizer.schedule.warmup_steps is -1, must be at least 0");
  options = Valid<SgdOptions>();
  options.schedule.kind = StepScheduleOptions{0, 0.5};
  ExpectRefused(options,
                "optimizer.schedule.step.every_steps is 0, must be at least 1");
  options.schedule.kind = StepScheduleOptions{10, 0};
  ExpectRefused(options,
                "optimizer.schedule.step.factor is 0, must be in (0, 1]");
  options.schedule.kind = CosineScheduleOptions{10, 1.5};
  ExpectRefused(
      options,
      "optimizer.schedule.cosine.final_factor is 1.5, must be in [0, 1]");
  options.schedule.kind = PolynomialScheduleOptions{10, 0, 0};
  ExpectRefused(
      options, "optimizer.schedule.polynomial.power is 0, must be in (0, 100]");
}

}  // namespace
}  // namespace selari
