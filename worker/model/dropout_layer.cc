// Dropout. Which elements go is a pure function of seed, step, layer, place of
// the sample in the global batch and element: nothing is kept for the backward
// pass, and no worker's choice depends on which leaves it holds.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <variant>

#include "common/random.h"
#include "worker/model/layers.h"
#include "worker/model/leaf_sums.h"

namespace selari {
namespace {

class DropoutLayer final : public Layer {
 public:
  DropoutLayer(LayerPlan plan, LayerEnvironment* environment)
      : Layer(std::move(plan), environment),
        dropout_(std::get<DropoutPlan>(plan_.kind)),
        size_(plan_.input_size()) {}

  void Forward(const StepContext& context, const float* input, TensorSpans,
               float* output) override {
    Apply(context, input, output, nullptr);
  }

  void Backward(const StepContext& context, const BackwardArgs& args) override {
    if (args.input_grad != nullptr) {
      Apply(context, args.output_grad, args.input_grad,
            args.input_is_relu ? args.input : nullptr);
    }
  }

 private:
  // y = dropout(x); then, unless null, the backward pass of the ReLU whose
  // output is `relu_output`.
  void Apply(const StepContext& context, const float* x, float* y,
             const float* relu_output) {
    const Kernels& kernels = environment_.kernels();
    DropoutArgs args;
    args.dim = size_;
    args.key = MakeRandomKey(context.seed, RandomStream::kDropout,
                             static_cast<uint64_t>(context.step),
                             dropout_.layer_index);
    args.rate = context.training ? dropout_.rate : 0.0f;
    environment_.pool().RunRows(
        context.rows, [&](int64_t begin, int64_t end, int) {
          ForEachLeaf(
              context, begin, end, [&](int64_t leaf, int64_t from, int64_t to) {
                const std::size_t k = static_cast<std::size_t>(leaf);
                DropoutArgs part = args;
                part.rows = to - from;
                part.first_sample = static_cast<uint64_t>(
                    context.first_sample[k] + from - context.leaf_begin[k]);
                part.x = x + from * size_;
                part.y = y + from * size_;
                kernels.dropout.apply(part);
              });
          if (relu_output != nullptr) {
            kernels.relu.backward((end - begin) * size_,
                                  relu_output + begin * size_,
                                  y + begin * size_, y + begin * size_);
          }
        });
  }

  const DropoutPlan dropout_;
  const int64_t size_;
};

}  // namespace

std::unique_ptr<Layer> MakeDropoutLayer(LayerPlan plan,
                                        LayerEnvironment* environment) {
  return std::make_unique<DropoutLayer>(std::move(plan), environment);
}

}  // namespace selari
