// A ReLU that no other layer could take into its own pass.

#include <cstdint>
#include <memory>
#include <utility>

#include "worker/model/layers.h"

namespace selari {
namespace {

class ReluLayer final : public Layer {
 public:
  ReluLayer(LayerPlan plan, LayerEnvironment* environment)
      : Layer(std::move(plan), environment), size_(plan_.input_size()) {}

  void Forward(const StepContext& context, const float* input, TensorSpans,
               float* output) override {
    environment_.pool().RunRows(context.rows, [&](int64_t begin, int64_t end,
                                                  int) {
      environment_.kernels().relu.forward(
          (end - begin) * size_, input + begin * size_, output + begin * size_);
    });
  }

  void Backward(const StepContext& context, const BackwardArgs& args) override {
    if (args.input_grad == nullptr) {
      return;
    }
    const ReluKernels& relu = environment_.kernels().relu;
    environment_.pool().RunRows(
        context.rows, [&](int64_t begin, int64_t end, int) {
          const int64_t at = begin * size_;
          const int64_t n = (end - begin) * size_;
          relu.backward(n, args.output + at, args.output_grad + at,
                        args.input_grad + at);
          if (args.input_is_relu) {
            relu.backward(n, args.input + at, args.input_grad + at,
                          args.input_grad + at);
          }
        });
  }

 private:
  const int64_t size_;
};

}  // namespace

std::unique_ptr<Layer> MakeReluLayer(LayerPlan plan,
                                     LayerEnvironment* environment) {
  return std::make_unique<ReluLayer>(std::move(plan), environment);
}

}  // namespace selari
