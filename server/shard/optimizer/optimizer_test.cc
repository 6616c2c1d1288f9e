#include "server/shard/optimizer/optimizer.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "common/isa.h"
#include "gtest/gtest.h"
#include "server/shard/optimizer/create_optimizer.h"
#include "server/shard/optimizer/double_model.h"
#include "server/shard/optimizer/optimizer_options.h"
#include "server/shard/optimizer/test_model.h"

namespace selari {
namespace {

constexpr int kWeightCount = 300;
constexpr uint32_t kSeed = 7;

struct OptimizerCase {
  std::string name;
  OptimizerOptions options;
};

template <class Algorithm>
OptimizerCase MakeCase(const std::string& name, const Algorithm& algorithm,
                       double learning_rate, double weight_decay = 0) {
  OptimizerCase result;
  result.name = name;
  result.options.algorithm = algorithm;
  result.options.learning_rate = learning_rate;
  result.options.weight_decay = weight_decay;
  return result;
}

std::vector<OptimizerCase> ElementwiseCases() {
  SgdOptions heavy_ball;
  heavy_ball.momentum = 0.9;
  SgdOptions nesterov = heavy_ball;
  nesterov.nesterov = true;
  AdagradOptions adagrad;
  adagrad.initial_accumulator = 0.1;
  RmsPropOptions rms_momentum;
  rms_momentum.momentum = 0.9;
  std::vector<OptimizerCase> cases = {
      MakeCase("sgd", SgdOptions(), 0.1),
      MakeCase("sgd_decay", SgdOptions(), 0.1, 0.01),
      MakeCase("heavy_ball", heavy_ball, 0.05, 0.01),
      MakeCase("nesterov", nesterov, 0.05, 0.01),
      MakeCase("adagrad", AdagradOptions(), 0.1),
      MakeCase("adagrad_start", adagrad, 0.1, 0.01),
      MakeCase("rms_prop", RmsPropOptions(), 0.01, 0.01),
      MakeCase("rms_prop_momentum", rms_momentum, 0.003),
      MakeCase("adam", AdamOptions(), 0.01),
      MakeCase("adam_decay", AdamOptions(), 0.01, 0.1),
      MakeCase("adam_w", AdamWOptions(), 0.01, 0.1),
  };
  cases.push_back(MakeCase("clip_value", SgdOptions(), 0.1));
  cases.back().options.clip_value = 0.5;
  return cases;
}

std::vector<OptimizerCase> AllCases() {
  std::vector<OptimizerCase> cases = ElementwiseCases();
  cases.push_back(MakeCase("lamb", LambOptions(), 0.01, 0.05));
  cases.push_back(MakeCase("clip_norm", SgdOptions(), 0.1));
  cases.back().options.clip_global_norm = 2;
  cases.push_back(MakeCase("clip_norm_lamb", LambOptions(), 0.01));
  cases.back().options.clip_global_norm = 2;
  cases.back().options.clip_value = 1;
  return cases;
}

std::string NameOf(const testing::TestParamInfo<OptimizerCase>& info) {
  return info.param.name;
}

std::vector<float> RandomFloats(uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(kWeightCount);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

std::vector<TestTensor> ThreeTensors() {
  TestTensor large;
  large.chunk_sizes = {128, 64, 8};
  TestTensor bias;
  bias.chunk_sizes = {37};
  bias.skip_weight_decay = true;
  TestTensor last;
  last.chunk_sizes = {62, 1};
  return {large, bias, last};
}

std::vector<uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

class OptimizerTest : public testing::TestWithParam<OptimizerCase> {};

// A step rounds a weight to float once or twice, by up to 6e-8 of it; over a
// hundred steps these errors mostly cancel. The worst of these cases is off by
// less than 1e-6.
TEST_P(OptimizerTest, HundredStepsFollowTheDoublePrecisionModel) {
  const std::vector<float> start = RandomFloats(kSeed);
  TestModel model(GetParam().options, IsaLevel::kV2, ThreeTensors(), start);
  DoubleModel expected(GetParam().options, {200, 37, 63}, {false, true, false},
                       start);
  for (int step = 0; step < 100; ++step) {
    const std::vector<float> grad = RandomFloats(kSeed + 1 + step);
    model.Update(grad);
    expected.Update(grad);
  }
  double moved = 0;
  for (int i = 0; i < kWeightCount; ++i) {
    ASSERT_NEAR(model.weights()[i], expected.weights()[i],
                2e-6 * (1 + std::abs(expected.weights()[i])))
        << "weight " << i;
    moved += std::abs(model.weights()[i] - start[i]);
  }
  EXPECT_GT(moved / kWeightCount, 0.05) << "the test would prove nothing";
}

TEST_P(OptimizerTest, BitsDoNotDependOnTheInstructionSet) {
  const std::vector<float> start = RandomFloats(kSeed);
  TestModel expected(GetParam().options, IsaLevel::kV2, ThreeTensors(), start);
  TestModel actual(GetParam().options, DetectIsaLevel(), ThreeTensors(), start);
  for (int step = 0; step < 5; ++step) {
    const std::vector<float> grad = RandomFloats(kSeed + 1 + step);
    expected.Update(grad);
    actual.Update(grad);
  }
  EXPECT_EQ(BitsOf(actual.weights()), BitsOf(expected.weights()));
}

// Decay alone pulls towards zero; Adam's coupled decay, a step of the learning
// rate's size, may overshoot.
TEST_P(OptimizerTest, ZeroGradientMovesNoWeightAway) {
  const std::vector<float> zero(kWeightCount, 0.0f);
  for (const std::vector<float>& start : {RandomFloats(kSeed), zero}) {
    TestModel model(GetParam().options, IsaLevel::kV2, ThreeTensors(), start);
    for (int step = 0; step < 3; ++step) {
      model.Update(zero);
    }
    for (int i = 0; i < kWeightCount; ++i) {
      ASSERT_TRUE(std::isfinite(model.weights()[i])) << i;
      ASSERT_LE(std::abs(model.weights()[i]), std::abs(start[i]) + 0.03) << i;
    }
  }
}

TEST_P(OptimizerTest, LastStepNumberKeepsWeightsFinite) {
  TestModel model(GetParam().options, IsaLevel::kV2, ThreeTensors(),
                  RandomFloats(kSeed));
  model.set_step(std::numeric_limits<int64_t>::max() - 1);
  model.Update(RandomFloats(kSeed + 1));
  for (const float weight : model.weights()) {
    ASSERT_TRUE(std::isfinite(weight));
  }
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerTest, testing::ValuesIn(AllCases()),
                         NameOf);

class ElementwiseOptimizerTest : public testing::TestWithParam<OptimizerCase> {
};

TEST_P(ElementwiseOptimizerTest, BitsDoNotDependOnHowTensorsAreCut) {
  std::vector<TestTensor> other_cut = ThreeTensors();
  other_cut[0].chunk_sizes = {1, 3, 0, 90, 106};
  other_cut[2].chunk_sizes = {63};
  const std::vector<float> start = RandomFloats(kSeed);
  TestModel expected(GetParam().options, IsaLevel::kV2, ThreeTensors(), start);
  TestModel actual(GetParam().options, DetectIsaLevel(), other_cut, start);
  EXPECT_EQ(actual.optimizer().RoundCount(), 0);
  for (int step = 0; step < 5; ++step) {
    const std::vector<float> grad = RandomFloats(kSeed + 1 + step);
    expected.Update(grad);
    actual.Update(grad);
  }
  EXPECT_EQ(BitsOf(actual.weights()), BitsOf(expected.weights()));
}

INSTANTIATE_TEST_SUITE_P(All, ElementwiseOptimizerTest,
                         testing::ValuesIn(ElementwiseCases()), NameOf);

TEST(OptimizerSlotsTest, EachKeepsOnlyWhatItNeeds) {
  const auto slot_count = [](const OptimizerCase& test_case) {
    return CreateOptimizer(test_case.options, IsaLevel::kV2)
        .value()
        ->SlotCount();
  };
  SgdOptions momentum;
  momentum.momentum = 0.9;
  RmsPropOptions rms_momentum;
  rms_momentum.momentum = 0.9;
  EXPECT_EQ(slot_count(MakeCase("sgd", SgdOptions(), 1)), 0);
  EXPECT_EQ(slot_count(MakeCase("momentum", momentum, 1)), 1);
  EXPECT_EQ(slot_count(MakeCase("adagrad", AdagradOptions(), 1)), 1);
  EXPECT_EQ(slot_count(MakeCase("rms_prop", RmsPropOptions(), 1)), 1);
  EXPECT_EQ(slot_count(MakeCase("rms_momentum", rms_momentum, 1)), 2);
  EXPECT_EQ(slot_count(MakeCase("adam", AdamOptions(), 1)), 2);
  EXPECT_EQ(slot_count(MakeCase("adam_w", AdamWOptions(), 1)), 2);
  EXPECT_EQ(slot_count(MakeCase("lamb", LambOptions(), 1)), 2);
}

TEST(OptimizerSlotsTest, AdagradStartsFromItsInitialAccumulator) {
  AdagradOptions adagrad;
  adagrad.initial_accumulator = 0.25;
  const auto optimizer =
      CreateOptimizer(MakeCase("adagrad", adagrad, 1).options, IsaLevel::kV2);
  EXPECT_EQ(optimizer.value()->InitialSlotValue(0), 0.25f);
}

TEST(OptimizerClippingTest, GradientWithinTheNormIsUntouched) {
  OptimizerOptions options;
  options.learning_rate = 1;
  TestTensor tensor;
  tensor.chunk_sizes = {2};
  TestModel plain(options, IsaLevel::kV2, {tensor}, {0, 0});
  options.clip_global_norm = 5.1;
  TestModel clipped(options, IsaLevel::kV2, {tensor}, {0, 0});
  plain.Update({3, -4});
  clipped.Update({3, -4});
  EXPECT_EQ(BitsOf(clipped.weights()), BitsOf(plain.weights()));
}

TEST(OptimizerClippingTest, ValueIsCutBeforeTheNormIsTaken) {
  OptimizerOptions options;
  options.learning_rate = 1;
  options.clip_value = 3;
  options.clip_global_norm = 2.5;
  TestTensor tensor;
  tensor.chunk_sizes = {1};
  TestModel model(options, IsaLevel::kV2, {tensor, tensor}, {0, 0});
  model.Update({300, -4});  // cut to (3, -3), norm sqrt(18)
  const double expected = 3 * 2.5 / (std::sqrt(18.0) + 1e-6);
  EXPECT_FLOAT_EQ(model.weights()[0], static_cast<float>(-expected));
  EXPECT_FLOAT_EQ(model.weights()[1], static_cast<float>(expected));
}

TEST(OptimizerDecayTest, SkippedTensorDoesNotDecay) {
  const std::vector<float> zero(kWeightCount, 0.0f);
  const std::vector<float> start = RandomFloats(kSeed);
  for (const OptimizerCase& test_case :
       {MakeCase("sgd", SgdOptions(), 0.1, 0.1),
        MakeCase("adam", AdamOptions(), 0.1, 0.1),
        MakeCase("adam_w", AdamWOptions(), 0.1, 0.1),
        MakeCase("lamb", LambOptions(), 0.1, 0.1)}) {
    TestModel model(test_case.options, IsaLevel::kV2, ThreeTensors(), start);
    model.Update(zero);
    EXPECT_NE(model.weights()[0], start[0]) << test_case.name;
    EXPECT_EQ(model.weights()[210], start[210]) << test_case.name;
  }
}

TEST(LambTest, TensorThatStartsAtZeroMovesByItsPlainDirection) {
  OptimizerOptions options;
  options.algorithm = LambOptions();
  options.learning_rate = 0.5;
  TestTensor tensor;
  tensor.chunk_sizes = {2};
  TestModel model(options, IsaLevel::kV2, {tensor}, {0, 0});
  model.Update({1, -1});  // directions of size 1 / (1 + epsilon)
  EXPECT_NEAR(model.weights()[0], -0.5, 1e-6);
  EXPECT_NEAR(model.weights()[1], 0.5, 1e-6);
}

}  // namespace
}  // namespace selari
