// Our optimizers and schedules against PyTorch's numbers. What is left is that
// PyTorch computed in double and we in float.

#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "common/isa.h"
#include "gtest/gtest.h"
#include "server/shard/optimizer/optimizer_options.h"
#include "server/shard/optimizer/schedule/learning_rate.h"
#include "server/shard/optimizer/test_model.h"
#include "tests/golden/optimizer_values.h"

namespace selari {
namespace {

OptimizerOptions MakeOptions(
    const decltype(OptimizerOptions::algorithm)& algorithm,
    double learning_rate, double weight_decay) {
  OptimizerOptions options;
  options.algorithm = algorithm;
  options.learning_rate = learning_rate;
  options.weight_decay = weight_decay;
  return options;
}

OptimizerOptions MakeClipping(double clip_value, double clip_global_norm) {
  OptimizerOptions options = MakeOptions(SgdOptions(), 0.1, 0);
  options.clip_value = clip_value;
  options.clip_global_norm = clip_global_norm;
  return options;
}

// The settings of each case of make_optimizer_values.py.
std::map<std::string, OptimizerOptions> OptimizerCases() {
  SgdOptions momentum;
  momentum.momentum = 0.9;
  SgdOptions nesterov = momentum;
  nesterov.nesterov = true;
  AdagradOptions adagrad;
  adagrad.initial_accumulator = 0.1;
  RmsPropOptions rms_momentum;
  rms_momentum.alpha = 0.9;
  rms_momentum.momentum = 0.9;
  return {
      {"sgd", MakeOptions(SgdOptions(), 0.1, 0.01)},
      {"momentum", MakeOptions(momentum, 0.1, 0.01)},
      {"nesterov", MakeOptions(nesterov, 0.1, 0)},
      {"adagrad", MakeOptions(adagrad, 0.1, 0.01)},
      {"rms_prop", MakeOptions(RmsPropOptions(), 0.01, 0.01)},
      {"rms_prop_momentum", MakeOptions(rms_momentum, 0.01, 0)},
      {"adam", MakeOptions(AdamOptions(), 0.01, 0.1)},
      {"adam_w", MakeOptions(AdamWOptions(), 0.01, 0.1)},
      {"clip_value", MakeClipping(0.5, 0)},
      {"clip_norm", MakeClipping(0, 1.5)},
      {"clip_both", MakeClipping(1, 1.5)},
      {"lamb", MakeOptions(LambOptions(), 0.05, 0.1)},
  };
}

std::map<std::string, ScheduleOptions> ScheduleCases() {
  std::map<std::string, ScheduleOptions> cases;
  cases["constant"].kind = ConstantScheduleOptions();
  cases["step"].kind = StepScheduleOptions{3, 0.5};
  cases["cosine"].kind = CosineScheduleOptions{11, 0.1};
  cases["linear"].kind = PolynomialScheduleOptions{10, 1, 0};
  cases["polynomial"].kind = PolynomialScheduleOptions{10, 1.7, 0};
  cases["warm_up_cosine"].kind = CosineScheduleOptions{8, 0};
  cases["warm_up_cosine"].warmup_steps = 4;
  return cases;
}

// Ten updates of weights up to 4 in size, each rounded to float (6e-8 of it)
// once or twice.
constexpr double kTolerance = 1e-6;

void ExpectPyTorchsWeights(const golden::OptimizerValues& values,
                           const OptimizerOptions& options, IsaLevel level) {
  TestTensor first;
  first.chunk_sizes = {2, golden::kFirstTensorSize - 2};
  TestTensor second;
  second.chunk_sizes = {golden::kWeightCount - golden::kFirstTensorSize};
  TestModel model(
      options, level, {first, second},
      std::vector<float>(std::begin(golden::kStart), std::end(golden::kStart)));
  int recorded = 0;
  for (int step = 1; step <= golden::kStepCount; ++step) {
    const float* grad = golden::kGrads[step - 1];
    model.Update(std::vector<float>(grad, grad + golden::kWeightCount));
    if (step != golden::kRecordedSteps[recorded]) {
      continue;
    }
    for (int i = 0; i < golden::kWeightCount; ++i) {
      const double expected = values.weights[recorded][i];
      EXPECT_NEAR(model.weights()[i], expected,
                  kTolerance * (1 + std::abs(expected)))
          << values.name << ", step " << step << ", weight " << i;
    }
    ++recorded;
  }
}

TEST(OptimizerGoldenTest, WeightsAreThoseOfPyTorch) {
  const std::map<std::string, OptimizerOptions> cases = OptimizerCases();
  ASSERT_EQ(cases.size(), std::size(golden::kOptimizers));
  for (const golden::OptimizerValues& values : golden::kOptimizers) {
    ASSERT_EQ(cases.count(values.name), 1u) << values.name;
    ExpectPyTorchsWeights(values, cases.at(values.name), IsaLevel::kV2);
    ExpectPyTorchsWeights(values, cases.at(values.name), DetectIsaLevel());
  }
}

TEST(OptimizerGoldenTest, LearningRatesAreThoseOfPyTorch) {
  const std::map<std::string, ScheduleOptions> cases = ScheduleCases();
  ASSERT_EQ(cases.size(), std::size(golden::kSchedules));
  for (const golden::ScheduleValues& values : golden::kSchedules) {
    ASSERT_EQ(cases.count(values.name), 1u) << values.name;
    OptimizerOptions options = MakeOptions(SgdOptions(), 0.5, 0);
    options.schedule = cases.at(values.name);
    const LearningRate learning_rate = LearningRate::Create(options).value();
    for (int i = 0; i < golden::kRateCount; ++i) {
      EXPECT_NEAR(learning_rate.At(i + 1), values.rates[i], 1e-14)
          << values.name << ", update " << i + 1;
    }
  }
}

}  // namespace
}  // namespace selari
