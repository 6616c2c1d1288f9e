#include "worker/model/reference_network.h"

#include <cstddef>
#include <utility>
#include <variant>

#include "common/check.h"
#include "common/random.h"
#include "kernels/reference/reference.h"

namespace selari {
namespace {

using Doubles = std::vector<double>;

// One layer's forward pass; `tensors` are the layer's own.
class ReferenceForward {
 public:
  ReferenceForward(const LayerPlan& plan, uint64_t seed, const StepBatch& batch,
                   const Doubles& input, const Doubles* tensors)
      : plan_(plan),
        seed_(seed),
        batch_(batch),
        input_(input),
        tensors_(tensors),
        output_(static_cast<std::size_t>(batch.rows() * plan.output_size())) {}

  Doubles operator()(const DensePlan& dense) {
    reference::GemmAb({batch_.rows(), dense.units, dense.inputs}, input_.data(),
                      tensors_[0].data(), output_.data());
    if (dense.bias) {
      reference::BiasAdd(batch_.rows(), dense.units, output_.data(),
                         tensors_[1].data(), output_.data());
    }
    return Relu(dense.relu);
  }

  Doubles operator()(const Conv2dPlan& conv) {
    reference::Conv2DForward(
        MakeConv2DShape(batch_.rows(), conv.in_height, conv.in_width,
                        conv.in_channels, conv.filters, conv.kernel_size,
                        conv.stride, conv.same_padding),
        input_.data(), tensors_[0].data(),
        conv.bias ? tensors_[1].data() : nullptr, output_.data());
    return Relu(conv.relu);
  }

  Doubles operator()(const MaxPool2dPlan& pool) {
    std::vector<int32_t> argmax(output_.size());
    reference::MaxPool2DForward(
        MakeMaxPool2DShape(batch_.rows(), pool.in_height, pool.in_width,
                           pool.channels, pool.window, pool.stride),
        input_.data(), output_.data(), argmax.data());
    return output_;
  }

  Doubles operator()(const ReluPlan&) {
    output_ = input_;
    return Relu(true);
  }

  Doubles operator()(const DropoutPlan& dropout) {
    const RandomKey key =
        MakeRandomKey(seed_, RandomStream::kDropout,
                      static_cast<uint64_t>(batch_.step), dropout.layer_index);
    const int64_t size = plan_.input_size();
    for (std::size_t leaf = 0; leaf < batch_.leaves.size(); ++leaf) {
      const int64_t begin = batch_.leaf_begin[leaf];
      reference::Dropout(batch_.leaf_begin[leaf + 1] - begin, size, key,
                         static_cast<uint64_t>(batch_.first_sample[leaf]),
                         dropout.rate, input_.data() + begin * size,
                         output_.data() + begin * size);
    }
    return output_;
  }

  Doubles operator()(const LayerNormPlan& norm) {
    const int64_t rows = batch_.rows() * plan_.input_size() / norm.dim;
    Doubles mean(static_cast<std::size_t>(rows)), rstd(mean.size());
    reference::LayerNormForward(
        rows, norm.dim, static_cast<double>(norm.epsilon), input_.data(),
        tensors_[0].data(), tensors_[1].data(), output_.data(), mean.data(),
        rstd.data());
    return output_;
  }

 private:
  Doubles Relu(bool wanted) {
    if (wanted) {
      reference::ReluForward(static_cast<int64_t>(output_.size()),
                             output_.data(), output_.data());
    }
    return output_;
  }

  const LayerPlan& plan_;
  const uint64_t seed_;
  const StepBatch& batch_;
  const Doubles& input_;
  const Doubles* const tensors_;
  Doubles output_;
};

}  // namespace

double ReferenceLoss(const ModelPlan& plan, uint64_t seed,
                     const StepBatch& batch,
                     const std::vector<std::vector<double>>& tensors) {
  const int64_t rows = batch.rows();
  const float* const features = batch.features->data();
  Doubles activations(features, features + rows * plan.input_size);
  const Doubles* next_tensor = tensors.data();
  for (const LayerPlan& layer : plan.layers) {
    activations = std::visit(
        ReferenceForward(layer, seed, batch, activations, next_tensor),
        layer.kind);
    next_tensor += layer.tensors.size();
  }
  Doubles loss(static_cast<std::size_t>(rows)), grad(activations.size());
  switch (plan.loss) {
    case LossKind::kSoftmaxCrossEntropy:
      reference::SoftmaxCrossEntropy(rows, plan.outputs, activations.data(),
                                     batch.labels.data(), 1.0, loss.data(),
                                     grad.data());
      break;
    case LossKind::kLogistic:
      reference::Logistic(rows, activations.data(), batch.labels.data(), 1.0,
                          loss.data(), grad.data());
      break;
    case LossKind::kMeanSquaredError: {
      const Doubles targets(batch.targets.begin(), batch.targets.end());
      reference::SquaredError(rows, plan.outputs, activations.data(),
                              targets.data(), 1.0, loss.data(), grad.data());
      break;
    }
  }
  double sum = 0;
  for (const double row : loss) {
    sum += row;
  }
  return sum / static_cast<double>(batch.global_size);
}

}  // namespace selari
