// Gradients of each layer, and of nets that put it between others, against
// finite differences in double precision; and the promise that bits depend on
// neither threads nor who holds which leaf.

#include "worker/model/network.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/isa.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "kernels/tree_sum.h"
#include "selari/v1/job.pb.h"
#include "worker/model/reference_network.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSeed = 11;
constexpr int64_t kClasses = 3;
// Rows of each leaf, one of them empty.
const std::vector<int64_t>& LeafBegin() {
  static const auto* const begin = new std::vector<int64_t>{0, 3, 5, 5, 9};
  return *begin;
}
constexpr int64_t kLeaves = 4;

struct Case {
  std::string name;
  std::vector<int64_t> feature_shape;
  std::string model;
};

std::vector<Case> Cases() {
  const std::string softmax = "loss: LOSS_SOFTMAX_CROSS_ENTROPY ";
  const std::string dense8 = "layers { dense { units: 8 } } ";
  const std::string dense3 = "layers { dense { units: 3 } } ";
  const std::string dense1 = "layers { dense { units: 1 } } ";
  const std::string relu = "layers { relu {} } ";
  const std::string norm = "layers { layer_norm {} } ";
  const std::string drop = "layers { dropout { rate: 0.4 } } ";
  const std::string conv =
      "layers { conv2d { filters: 4 kernel_size: 3 same_padding: true } } ";
  const std::string strided =
      "layers { conv2d { filters: 5 kernel_size: 2 stride: 2 } } ";
  const std::string plain_conv =
      "layers { conv2d { filters: 2 kernel_size: 3 no_bias: true } } ";
  const std::string pool = "layers { max_pool2d { window: 2 } } ";
  return {
      {"Linear", {6}, softmax + dense3},
      {"NoBias", {6}, softmax + "layers { dense { units: 3 no_bias: true } }"},
      {"DenseReluDense", {6}, softmax + dense8 + relu + dense3},
      {"Logistic", {6}, "loss: LOSS_LOGISTIC " + dense8 + relu + dense1},
      {"SquaredError", {6}, "loss: LOSS_MEAN_SQUARED_ERROR " + dense8 + dense1},
      {"LastRelu", {6}, "loss: LOSS_MEAN_SQUARED_ERROR " + dense1 + relu},
      {"Dropout", {6}, softmax + dense8 + relu + drop + dense3},
      {"DropoutRelu", {6}, softmax + dense8 + drop + relu + dense3},
      {"ReluDropoutRelu", {6}, softmax + dense8 + relu + drop + relu + dense3},
      {"LayerNorm", {6}, softmax + dense8 + norm + relu + dense3},
      {"ReluLayerNorm", {6}, softmax + dense8 + relu + norm + dense3},
      {"Conv", {6, 6}, softmax + conv + relu + plain_conv + dense3},
      {"ConvStride", {6, 6, 2}, softmax + conv + relu + strided + dense3},
      {"ConvPool", {6, 6}, softmax + conv + relu + pool + dense3},
      {"ConvNormPool",
       {6, 6},
       softmax + conv + norm + relu + pool + "layers { flatten {} }" + dense3},
      {"PoolFirst", {6, 6}, softmax + pool + strided + dense3},
  };
}

class NetworkTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    v1::Model model;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(GetParam().model,
                                                              &model));
    const auto plan = PlanModel(
        model, GetParam().feature_shape,
        model.loss() == v1::LOSS_SOFTMAX_CROSS_ENTROPY ? kClasses : 2);
    ASSERT_TRUE(plan.ok()) << plan.status();
    plan_ = *plan;
    MakeBatch();
    uint64_t index = 0;
    for (const LayerPlan& layer : plan_.layers) {
      for (const TensorPlan& tensor : layer.tensors) {
        // Spread around 1 for gains, 0 for others.
        const float mean = tensor.name.find("gain") != std::string::npos;
        tensors_.push_back(FloatBuffer::Allocate(tensor.size));
        FillNormal(
            MakeRandomKey(kSeed, RandomStream::kTest, ++index), 0, mean, 0.5f,
            {tensors_.back()->data(), static_cast<std::size_t>(tensor.size)});
      }
    }
  }

  void MakeBatch() {
    batch_.step = 5;
    batch_.global_size = 12;
    batch_.leaf_begin = LeafBegin();
    for (int64_t leaf = 0; leaf < kLeaves; ++leaf) {
      batch_.leaves.push_back(leaf);
      batch_.first_sample.push_back(2 + LeafBegin()[leaf]);
    }
    const int64_t size = batch_.rows() * plan_.input_size;
    batch_.features = FloatBuffer::Allocate(size);
    FillNormal(MakeRandomKey(kSeed, RandomStream::kTest), 0, 0, 1,
               {batch_.features->data(), static_cast<std::size_t>(size)});
    const int64_t classes =
        plan_.loss == LossKind::kSoftmaxCrossEntropy ? kClasses : 2;
    for (int64_t row = 0; row < batch_.rows(); ++row) {
      batch_.samples.push_back(row);
      batch_.labels.push_back(static_cast<int32_t>(row * 7 % classes));
      batch_.targets.push_back(0.3f * static_cast<float>(row));
    }
  }

  // The batch of one worker that holds only `leaf`.
  StepBatch OnlyLeaf(std::size_t leaf) const {
    StepBatch one = batch_;
    const int64_t begin = LeafBegin()[leaf];
    const int64_t rows = LeafBegin()[leaf + 1] - begin;
    one.leaves = {batch_.leaves[leaf]};
    one.leaf_begin = {0, rows};
    one.first_sample = {batch_.first_sample[leaf]};
    one.features = FloatBuffer::Allocate(rows * plan_.input_size);
    std::copy_n(batch_.features->data() + begin * plan_.input_size,
                rows * plan_.input_size, one.features->data());
    one.labels.assign(batch_.labels.begin() + begin,
                      batch_.labels.begin() + begin + rows);
    one.targets.assign(batch_.targets.begin() + begin,
                       batch_.targets.begin() + begin + rows);
    return one;
  }

  std::vector<absl::Span<const float>> Spans() const {
    std::vector<absl::Span<const float>> spans;
    for (const auto& tensor : tensors_) {
      spans.emplace_back(tensor->data(),
                         static_cast<std::size_t>(tensor->size()));
    }
    return spans;
  }

  // Gradients of all tensors for each node: (nodes, tensors).
  std::vector<std::vector<float>> Gradients(const StepBatch& batch,
                                            const std::vector<LeafSpan>& nodes,
                                            int threads) {
    Network network(plan_, KernelsFor(DetectIsaLevel()), {kSeed, threads});
    const std::vector<absl::Span<const float>> spans = Spans();
    EXPECT_TRUE(network.Start(batch, StepMode::kTraining).ok());
    const auto stage_spans = [&](int32_t stage) {
      const TensorRange range = network.StageTensors(stage);
      return absl::MakeConstSpan(spans).subspan(range.begin,
                                                range.end - range.begin);
    };
    for (int32_t s = 0; s < network.stage_count(); ++s) {
      EXPECT_TRUE(network.Forward(s, stage_spans(s)).ok());
    }
    const auto loss = network.Loss();
    EXPECT_TRUE(loss.ok());
    loss_ = 0;
    for (const double leaf : loss->leaf_loss) {
      loss_ += leaf;
    }
    std::vector<std::vector<float>> grads(nodes.size() * spans.size());
    for (int32_t s = network.stage_count() - 1; s >= 0; --s) {
      std::vector<float*> wanted;
      const TensorRange range = network.StageTensors(s);
      for (std::size_t n = 0; n < nodes.size(); ++n) {
        for (int32_t t = range.begin; t < range.end; ++t) {
          const std::size_t k = static_cast<std::size_t>(t);
          std::vector<float>& grad = grads[n * spans.size() + k];
          // NaN shows whatever the network leaves unwritten.
          grad.assign(spans[k].size(), std::numeric_limits<float>::quiet_NaN());
          wanted.push_back(grad.data());
        }
      }
      EXPECT_TRUE(network.Backward(s, stage_spans(s), nodes, wanted).ok());
    }
    return grads;
  }

  ModelPlan plan_;
  StepBatch batch_;
  std::vector<std::shared_ptr<FloatBuffer>> tensors_;
  double loss_ = 0;
};

TEST_P(NetworkTest, GradientsAgreeWithFiniteDifferences) {
  const auto grads = Gradients(batch_, {{0, kLeaves}}, 1);
  std::vector<std::vector<double>> tensors;
  for (const auto& tensor : tensors_) {
    tensors.emplace_back(tensor->data(), tensor->data() + tensor->size());
  }
  // The truncation error is of the order of h^2, the rounding error of
  // 1e-16 / h; both vanish beside fp32.
  constexpr double kStep = 1e-5;
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    // At most some 40 elements of each tensor.
    const std::size_t stride = tensors[t].size() / 40 + 1;
    for (std::size_t i = 0; i < tensors[t].size(); i += stride) {
      const double value = tensors[t][i];
      tensors[t][i] = value + kStep;
      const double above = ReferenceLoss(plan_, kSeed, batch_, tensors);
      tensors[t][i] = value - kStep;
      const double below = ReferenceLoss(plan_, kSeed, batch_, tensors);
      tensors[t][i] = value;
      const double expected = (above - below) / (2 * kStep);
      // fp32 sums of some 100 terms of size about 1: 1e-5 absolute.
      ASSERT_NEAR(grads[t][i], expected, 1e-5 + 1e-4 * std::abs(expected))
          << "tensor " << t << ", element " << i;
    }
  }
}

TEST_P(NetworkTest, TheLossAgreesWithTheReference) {
  Gradients(batch_, {{0, kLeaves}}, 1);
  std::vector<std::vector<double>> tensors;
  for (const auto& tensor : tensors_) {
    tensors.emplace_back(tensor->data(), tensor->data() + tensor->size());
  }
  const double expected = ReferenceLoss(plan_, kSeed, batch_, tensors);
  EXPECT_NEAR(loss_ / static_cast<double>(batch_.global_size), expected,
              1e-5 * (1 + std::abs(expected)));
}

TEST_P(NetworkTest, ThreadsDoNotChangeABit) {
  const std::vector<LeafSpan> nodes = {{0, 2}, {2, 3}, {3, 4}};
  const auto expected = Gradients(batch_, nodes, 1);
  const double loss = loss_;
  for (const int threads : {2, 3, 7}) {
    EXPECT_EQ(Gradients(batch_, nodes, threads), expected) << threads;
    EXPECT_EQ(loss_, loss);
  }
}

TEST_P(NetworkTest, WorkersWithOneLeafEachGiveTheSameSum) {
  const auto whole = Gradients(batch_, {{0, kLeaves}}, 1);
  std::vector<std::vector<std::vector<float>>> leaves;
  for (std::size_t leaf = 0; leaf < kLeaves; ++leaf) {
    leaves.push_back(Gradients(OnlyLeaf(leaf), {{0, 1}}, 1));
  }
  const Kernels& kernels = KernelsFor(DetectIsaLevel());
  for (std::size_t t = 0; t < whole.size(); ++t) {
    std::vector<const float*> inputs;
    for (const auto& leaf : leaves) {
      inputs.push_back(leaf[t].data());
    }
    std::vector<float> sum(whole[t].size());
    kernels.tree_sum.tree_sum(static_cast<int64_t>(sum.size()), kLeaves,
                              inputs.data(), sum.data());
    EXPECT_EQ(sum, whole[t]) << "tensor " << t;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, NetworkTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

class SmallNetworkTest : public ::testing::Test {
 protected:
  SmallNetworkTest() {
    v1::Model model;
    model.set_loss(v1::LOSS_SOFTMAX_CROSS_ENTROPY);
    model.add_layers()->mutable_dense()->set_units(2);
    plan_ = *PlanModel(model, {2}, 2);
    batch_.global_size = 2;
    batch_.leaves = {4, 5};
    batch_.leaf_begin = {0, 1, 2};
    batch_.first_sample = {0, 1};
    batch_.samples = {70, 71};
    batch_.labels = {0, 1};
    batch_.features = FloatBuffer::Allocate(4);
    std::fill_n(batch_.features->data(), 4, 1.0f);
  }

  ModelPlan plan_;
  StepBatch batch_;
};

TEST_F(SmallNetworkTest, RefusesALabelOutOfRange) {
  Network network(plan_, KernelsFor(DetectIsaLevel()), {});
  batch_.labels[1] = 2;
  EXPECT_THAT(
      std::string(network.Start(batch_, StepMode::kTraining).message()),
      HasSubstr("label of sample 71 is 2, the model has classes 0 to 1"));
}

TEST_F(SmallNetworkTest, RefusesABatchThatIsTooNarrow) {
  Network network(plan_, KernelsFor(DetectIsaLevel()), {});
  batch_.features = FloatBuffer::Allocate(2);
  EXPECT_THAT(std::string(network.Start(batch_, StepMode::kTraining).message()),
              HasSubstr("fewer than 2 features a sample"));
}

TEST_F(SmallNetworkTest, LeafGradientIsThatOfTheLeafAlone) {
  Network network(plan_, KernelsFor(DetectIsaLevel()), {});
  const std::vector<float> weight = {0, 0, 0, 0}, bias = {0, 0};
  const std::vector<absl::Span<const float>> tensors = {weight, bias};
  ASSERT_TRUE(network.Start(batch_, StepMode::kTraining).ok());
  ASSERT_TRUE(network.Forward(0, tensors).ok());
  const auto loss = network.Loss();
  ASSERT_TRUE(loss.ok());
  EXPECT_EQ(loss->leaf_loss.size(), 2u);
  std::vector<float> weight_grad(4), bias_grad(2);
  const std::vector<float*> grads = {weight_grad.data(), bias_grad.data()};
  ASSERT_TRUE(network.Backward(0, tensors, {{0, 2}}, grads).ok());
  EXPECT_THAT(bias_grad, ::testing::ElementsAre(0.0f, 0.0f));
  ASSERT_TRUE(network.LeafGradient(0, tensors, 1, grads).ok());
  EXPECT_THAT(bias_grad, ::testing::ElementsAre(0.25f, -0.25f));
}

}  // namespace
}  // namespace selari
