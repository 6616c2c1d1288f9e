// Two-dimensional convolution, optionally with a ReLU in the same pass.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/conv2d.h"
#include "worker/model/layers.h"
#include "worker/model/leaf_sums.h"

namespace selari {
namespace {

class Conv2dLayer final : public Layer {
 public:
  Conv2dLayer(LayerPlan plan, LayerEnvironment* environment)
      : Layer(std::move(plan), environment),
        conv_(std::get<Conv2dPlan>(plan_.kind)),
        input_size_(plan_.input_size()),
        output_size_(plan_.output_size()),
        weight_size_(plan_.tensors[0].size) {}

  void Forward(const StepContext& context, const float* input,
               TensorSpans tensors, float* output) override {
    const Conv2DKernels& kernels = environment_.kernels().conv2d;
    environment_.pool().RunRows(
        context.rows, [&](int64_t begin, int64_t end, int thread) {
          Conv2DForwardArgs args;
          args.shape = ShapeOf(end - begin);
          args.input = input + begin * input_size_;
          args.weight = tensors[0].data();
          args.output = output + begin * output_size_;
          args.epilogue.bias = conv_.bias ? tensors[1].data() : nullptr;
          args.epilogue.relu = conv_.relu;
          args.workspace = environment_.Workspace(
              thread, kernels.workspace_floats(args.shape));
          kernels.forward(args);
        });
  }

  // One run of the pool: the weight and bias gradients leaf by leaf, and the
  // input gradient in bands of samples. Then the leaves are summed.
  void Backward(const StepContext& context, const BackwardArgs& args) override {
    const std::vector<int64_t> leaves = LeavesOf(args.nodes);
    const int64_t leaf_count = static_cast<int64_t>(leaves.size());
    const int64_t row_bands =
        args.input_grad == nullptr
            ? 0
            : std::min<int64_t>(environment_.pool().thread_count(),
                                context.rows);
    float* const leaf_grads = GrowTo(leaf_count * weight_size_, &leaf_grads_);
    environment_.pool().Run(
        leaf_count + row_bands, [&](int64_t part, int thread) {
          if (part < leaf_count) {
            WeightGrad(context, args, leaves[static_cast<std::size_t>(part)],
                       leaf_grads + part * weight_size_, thread);
          } else {
            const int64_t band = part - leaf_count;
            InputGrad(args, band * context.rows / row_bands,
                      (band + 1) * context.rows / row_bands, thread);
          }
        });
    const float* next = leaf_grads;
    for (std::size_t node = 0; node < args.nodes.size(); ++node) {
      const int64_t count = args.nodes[node].end - args.nodes[node].begin;
      SumLeaves(environment_.kernels(), next, weight_size_, count, weight_size_,
                args.tensor_grad(node, 0));
      next += count * weight_size_;
      if (conv_.bias) {
        BiasGrad(context, args, node, count);
      }
    }
  }

 private:
  Conv2DShape ShapeOf(int64_t batch) const {
    // The kernel's shape wants at least one sample; an empty leaf has none.
    Conv2DShape shape =
        MakeConv2DShape(std::max<int64_t>(batch, 1), conv_.in_height,
                        conv_.in_width, conv_.in_channels, conv_.filters,
                        conv_.kernel_size, conv_.stride, conv_.same_padding);
    shape.batch = batch;
    return shape;
  }

  void WeightGrad(const StepContext& context, const BackwardArgs& args,
                  int64_t leaf, float* weight_grad, int thread) {
    const Conv2DKernels& kernels = environment_.kernels().conv2d;
    const int64_t begin = context.leaf_begin[static_cast<std::size_t>(leaf)];
    const int64_t end = context.leaf_begin[static_cast<std::size_t>(leaf) + 1];
    if (begin == end) {
      std::fill_n(weight_grad, weight_size_, 0.0f);
      return;
    }
    Conv2DWeightGradArgs grad;
    grad.shape = ShapeOf(end - begin);
    grad.input = args.input + begin * input_size_;
    grad.output_grad = args.output_grad + begin * output_size_;
    grad.weight_grad = weight_grad;
    grad.workspace =
        environment_.Workspace(thread, kernels.workspace_floats(grad.shape));
    kernels.weight_grad(grad);
  }

  void BiasGrad(const StepContext& context, const BackwardArgs& args,
                std::size_t node, int64_t leaf_count) {
    BiasGradArgs bias;
    bias.node = args.nodes[node];
    bias.dim = conv_.filters;
    bias.rows_per_sample = output_size_ / conv_.filters;
    bias.output_grad = args.output_grad;
    bias.workspace = environment_.Workspace(0, leaf_count * conv_.filters);
    bias.bias_grad = args.tensor_grad(node, 1);
    BiasGradOfNode(environment_.kernels(), context, bias);
  }

  void InputGrad(const BackwardArgs& args, int64_t begin, int64_t end,
                 int thread) {
    const Conv2DKernels& kernels = environment_.kernels().conv2d;
    Conv2DInputGradArgs grad;
    grad.shape = ShapeOf(end - begin);
    grad.output_grad = args.output_grad + begin * output_size_;
    grad.weight = args.tensors[0].data();
    grad.input_grad = args.input_grad + begin * input_size_;
    grad.relu_output =
        args.input_is_relu ? args.input + begin * input_size_ : nullptr;
    grad.workspace =
        environment_.Workspace(thread, kernels.workspace_floats(grad.shape));
    kernels.input_grad(grad);
  }

  const Conv2dPlan conv_;
  const int64_t input_size_;
  const int64_t output_size_;
  const int64_t weight_size_;
  // (leaves, weight size): the gradient of each leaf before the sum.
  std::shared_ptr<FloatBuffer> leaf_grads_;
};

}  // namespace

std::unique_ptr<Layer> MakeConv2dLayer(LayerPlan plan,
                                       LayerEnvironment* environment) {
  return std::make_unique<Conv2dLayer>(std::move(plan), environment);
}

}  // namespace selari
