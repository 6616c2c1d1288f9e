// Layer normalisation over the last dimension, with a learned gain and bias.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/layer_norm.h"
#include "worker/model/layers.h"
#include "worker/model/leaf_sums.h"

namespace selari {
namespace {

class LayerNormLayer final : public Layer {
 public:
  LayerNormLayer(LayerPlan plan, LayerEnvironment* environment)
      : Layer(std::move(plan), environment),
        norm_(std::get<LayerNormPlan>(plan_.kind)),
        size_(plan_.input_size()),
        rows_per_sample_(size_ / norm_.dim) {}

  void Forward(const StepContext& context, const float* input,
               TensorSpans tensors, float* output) override {
    mean_.resize(static_cast<std::size_t>(context.rows * rows_per_sample_));
    rstd_.resize(mean_.size());
    environment_.pool().RunRows(
        context.rows, [&](int64_t begin, int64_t end, int) {
          LayerNormForwardArgs args;
          args.rows = (end - begin) * rows_per_sample_;
          args.dim = norm_.dim;
          args.epsilon = norm_.epsilon;
          args.x = input + begin * size_;
          args.gain = tensors[0].data();
          args.bias = tensors[1].data();
          args.y = output + begin * size_;
          args.mean = mean_.data() + begin * rows_per_sample_;
          args.rstd = rstd_.data() + begin * rows_per_sample_;
          environment_.kernels().layer_norm.forward(args);
        });
  }

  // Leaf by leaf; then the leaves are summed.
  void Backward(const StepContext& context, const BackwardArgs& args) override {
    const std::vector<int64_t> leaves = LeavesOf(args.nodes);
    const int64_t leaf_count = static_cast<int64_t>(leaves.size());
    // Gain and bias of each leaf.
    const int64_t stride = 2 * norm_.dim;
    float* const leaf_grads = GrowTo(leaf_count * stride, &leaf_grads_);
    environment_.pool().Run(leaf_count, [&](int64_t part, int thread) {
      BackwardLeaf(context, args, leaves[static_cast<std::size_t>(part)],
                   leaf_grads + part * stride, thread);
    });
    const float* next = leaf_grads;
    for (std::size_t node = 0; node < args.nodes.size(); ++node) {
      const int64_t count = args.nodes[node].end - args.nodes[node].begin;
      for (std::size_t tensor = 0; tensor < 2; ++tensor) {
        SumLeaves(environment_.kernels(),
                  next + static_cast<int64_t>(tensor) * norm_.dim, stride,
                  count, norm_.dim, args.tensor_grad(node, tensor));
      }
      next += count * stride;
    }
  }

 private:
  void BackwardLeaf(const StepContext& context, const BackwardArgs& args,
                    int64_t leaf, float* grads, int thread) {
    const Kernels& kernels = environment_.kernels();
    const int64_t begin = context.leaf_begin[static_cast<std::size_t>(leaf)];
    const int64_t rows =
        context.leaf_begin[static_cast<std::size_t>(leaf) + 1] - begin;
    const int64_t at = begin * size_;
    LayerNormBackwardArgs norm;
    norm.rows = rows * rows_per_sample_;
    norm.dim = norm_.dim;
    norm.x = args.input + at;
    norm.gain = args.tensors[0].data();
    norm.mean = mean_.data() + begin * rows_per_sample_;
    norm.rstd = rstd_.data() + begin * rows_per_sample_;
    norm.output_grad = args.output_grad + at;
    norm.input_grad =
        args.input_grad == nullptr ? nullptr : args.input_grad + at;
    norm.gain_grad = grads;
    norm.bias_grad = grads + norm_.dim;
    norm.workspace = environment_.Workspace(
        thread, kernels.layer_norm.workspace_floats(norm_.dim));
    kernels.layer_norm.backward(norm);
    if (norm.input_grad != nullptr && args.input_is_relu) {
      kernels.relu.backward(rows * size_, args.input + at, norm.input_grad,
                            norm.input_grad);
    }
  }

  const LayerNormPlan norm_;
  const int64_t size_;
  const int64_t rows_per_sample_;
  // (rows, rows per sample) of the last forward pass.
  std::vector<float> mean_;
  std::vector<float> rstd_;
  // (leaves, 2, dim): the gradients of each leaf before the sum.
  std::shared_ptr<FloatBuffer> leaf_grads_;
};

}  // namespace

std::unique_ptr<Layer> MakeLayerNormLayer(LayerPlan plan,
                                          LayerEnvironment* environment) {
  return std::make_unique<LayerNormLayer>(std::move(plan), environment);
}

}  // namespace selari
