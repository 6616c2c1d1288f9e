// Two-dimensional maximum over windows.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/max_pool2d.h"
#include "worker/model/layers.h"

namespace selari {
namespace {

class MaxPool2dLayer final : public Layer {
 public:
  MaxPool2dLayer(LayerPlan plan, LayerEnvironment* environment)
      : Layer(std::move(plan), environment),
        pool_(std::get<MaxPool2dPlan>(plan_.kind)),
        input_size_(plan_.input_size()),
        output_size_(plan_.output_size()) {}

  void Forward(const StepContext& context, const float* input, TensorSpans,
               float* output) override {
    argmax_.resize(static_cast<std::size_t>(context.rows * output_size_));
    environment_.pool().RunRows(context.rows, [&](int64_t begin, int64_t end,
                                                  int) {
      environment_.kernels().max_pool2d.forward(
          ShapeOf(end - begin), input + begin * input_size_,
          output + begin * output_size_, argmax_.data() + begin * output_size_);
    });
  }

  void Backward(const StepContext& context, const BackwardArgs& args) override {
    if (args.input_grad == nullptr) {
      return;
    }
    const Kernels& kernels = environment_.kernels();
    environment_.pool().RunRows(
        context.rows, [&](int64_t begin, int64_t end, int) {
          float* const input_grad = args.input_grad + begin * input_size_;
          kernels.max_pool2d.backward(
              ShapeOf(end - begin), args.output_grad + begin * output_size_,
              argmax_.data() + begin * output_size_, input_grad);
          if (args.input_is_relu) {
            kernels.relu.backward((end - begin) * input_size_,
                                  args.input + begin * input_size_, input_grad,
                                  input_grad);
          }
        });
  }

 private:
  MaxPool2DShape ShapeOf(int64_t batch) const {
    return MakeMaxPool2DShape(batch, pool_.in_height, pool_.in_width,
                              pool_.channels, pool_.window, pool_.stride);
  }

  const MaxPool2dPlan pool_;
  const int64_t input_size_;
  const int64_t output_size_;
  // (rows, output size): where each maximum came from.
  std::vector<int32_t> argmax_;
};

}  // namespace

std::unique_ptr<Layer> MakeMaxPool2dLayer(LayerPlan plan,
                                          LayerEnvironment* environment) {
  return std::make_unique<MaxPool2dLayer>(std::move(plan), environment);
}

}  // namespace selari
