#include "worker/model/network.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "worker/model/layers.h"

namespace selari {

Network::Network(const ModelPlan& plan, const Kernels& kernels,
                 const NetworkOptions& options)
    : plan_(plan),
      options_(options),
      environment_(kernels, options.thread_count),
      loss_head_(plan.loss, plan.outputs, &environment_),
      outputs_(plan.layers.size()) {
  for (const LayerPlan& layer : plan_.layers) {
    const int32_t begin = static_cast<int32_t>(tensors_.size());
    for (const TensorPlan& tensor : layer.tensors) {
      tensors_.push_back({tensor.name, tensor.size});
    }
    stages_.push_back({begin, static_cast<int32_t>(tensors_.size())});
    layers_.push_back(MakeLayer(layer, &environment_));
  }
}

absl::Status Network::Start(const StepBatch& batch, StepMode mode) {
  SELARI_RETURN_IF_ERROR(loss_head_.CheckLabels(batch));
  if (batch.features == nullptr ||
      batch.features->size() < batch.rows() * plan_.input_size) {
    return absl::InvalidArgumentError(absl::StrCat(
        "step ", batch.step, ": the batch has fewer than ", plan_.input_size,
        " features a sample, which the first layer takes"));
  }
  batch_ = &batch;
  context_.seed = options_.seed;
  context_.step = batch.step;
  context_.training = mode == StepMode::kTraining;
  context_.rows = batch.rows();
  context_.leaf_begin = batch.leaf_begin;
  context_.first_sample = batch.first_sample;
  return absl::OkStatus();
}

const float* Network::InputOf(std::size_t stage) const {
  return stage == 0 ? batch_->features->data() : outputs_[stage - 1]->data();
}

const float* Network::outputs() const { return outputs_.back()->data(); }

bool Network::StageHasRelu(std::size_t stage) const {
  const LayerKindPlan& kind = plan_.layers[stage].kind;
  if (const DensePlan* const dense = std::get_if<DensePlan>(&kind)) {
    return dense->relu;
  }
  const Conv2dPlan* const conv = std::get_if<Conv2dPlan>(&kind);
  return conv != nullptr && conv->relu;
}

absl::Status Network::Forward(int32_t stage, TensorSpans tensors) {
  SELARI_CHECK(batch_ != nullptr);
  const std::size_t s = static_cast<std::size_t>(stage);
  float* const output =
      GrowTo(context_.rows * plan_.layers[s].output_size(), &outputs_[s]);
  layers_[s]->Forward(context_, InputOf(s), tensors, output);
  return absl::OkStatus();
}

absl::StatusOr<StepLoss> Network::Loss() {
  const std::size_t last = layers_.size() - 1;
  if (!context_.training) {
    return loss_head_.Evaluate(*batch_, outputs(), nullptr);
  }
  int64_t widest = 0;
  for (const LayerPlan& layer : plan_.layers) {
    widest = std::max(widest, layer.output_size());
  }
  for (std::shared_ptr<FloatBuffer>& grad : output_grads_) {
    GrowTo(context_.rows * widest, &grad);
  }
  float* const grad = OutputGradOf(last);
  StepLoss loss = loss_head_.Evaluate(*batch_, outputs(), grad);
  if (StageHasRelu(last)) {
    environment_.kernels().relu.backward(context_.rows * plan_.outputs,
                                         outputs(), grad, grad);
  }
  return loss;
}

BackwardArgs Network::ArgsOf(std::size_t stage, TensorSpans tensors) const {
  BackwardArgs args;
  args.input = InputOf(stage);
  args.output = outputs_[stage]->data();
  args.tensors = tensors;
  args.output_grad = output_grads_[stage % 2]->data();
  args.input_is_relu = stage > 0 && StageHasRelu(stage - 1);
  return args;
}

absl::Status Network::Backward(int32_t stage, TensorSpans tensors,
                               absl::Span<const LeafSpan> nodes,
                               absl::Span<float* const> tensor_grads) {
  const std::size_t s = static_cast<std::size_t>(stage);
  SELARI_CHECK(context_.training &&
               tensor_grads.size() == nodes.size() * tensors.size());
  BackwardArgs args = ArgsOf(s, tensors);
  args.input_grad = s == 0 ? nullptr : OutputGradOf(s - 1);
  args.nodes = nodes;
  args.tensor_grads = tensor_grads;
  layers_[s]->Backward(context_, args);
  return absl::OkStatus();
}

absl::Status Network::LeafGradient(int32_t stage, TensorSpans tensors,
                                   int64_t leaf,
                                   absl::Span<float* const> tensor_grads) {
  const std::size_t s = static_cast<std::size_t>(stage);
  const LeafSpan node = {leaf, leaf + 1};
  BackwardArgs args = ArgsOf(s, tensors);
  args.nodes = absl::MakeConstSpan(&node, 1);
  args.tensor_grads = tensor_grads;
  layers_[s]->Backward(context_, args);
  return absl::OkStatus();
}

absl::Span<const float> Network::Scores() const {
  if (plan_.loss != LossKind::kLogistic || batch_ == nullptr) {
    return {};
  }
  return absl::MakeConstSpan(outputs(),
                             static_cast<std::size_t>(context_.rows));
}

}  // namespace selari
