#include "cli/bench/kernel_cases.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/bench/wire_job.h"
#include "common/float_buffer.h"
#include "common/isa.h"
#include "kernels/kernels.h"
#include "kernels/optimizer/choose_optimizer_kernels.h"

namespace selari {
namespace {

const Kernels& K() { return KernelsFor(DetectIsaLevel()); }

// n numbers in [-0.5, 0.5).
std::shared_ptr<FloatBuffer> Floats(int64_t n) {
  auto buffer = FloatBuffer::Allocate(n);
  FillWireGradient(0, 0, {buffer->data(), static_cast<size_t>(n)});
  return buffer;
}

RateCase CaseOf(std::string name, RateUnit unit, double units_per_call,
                std::function<void()> call) {
  return {std::move(name), unit, [units_per_call, call = std::move(call)] {
            return MeasureRate(units_per_call, kMeasureSeconds, [&] {
              call();
              return absl::OkStatus();
            });
          }};
}

// `floats`: read and written in a call.
RateCase BytesCase(const std::string& name, int64_t floats,
                   std::function<void()> call) {
  return CaseOf(name, RateUnit::kBytes,
                static_cast<double>(floats) * sizeof(float), std::move(call));
}

RateCase GemmCase(const std::string& name, void (*multiply)(const GemmArgs&),
                  const GemmShape& shape) {
  const auto a = Floats(shape.rows * shape.depth);
  const auto b = Floats(shape.depth * shape.cols);
  const auto c = Floats(shape.rows * shape.cols);
  const auto workspace =
      FloatBuffer::Allocate(K().gemm.workspace_floats(shape));
  return CaseOf(
      absl::StrCat(name, "_", shape.rows, "x", shape.cols, "x", shape.depth),
      RateUnit::kFlops,
      2.0 * static_cast<double>(shape.rows * shape.cols * shape.depth), [=] {
        GemmArgs args;
        args.shape = shape;
        args.a = a->data();
        args.b = b->data();
        args.c = c->data();
        args.workspace = workspace->data();
        multiply(args);
      });
}

void AddProducts(std::vector<RateCase>* cases) {
  const GemmKernels& gemm = K().gemm;
  cases->push_back(GemmCase("gemm_ab", gemm.ab, {64, 256, 784}));
  cases->push_back(GemmCase("gemm_ab", gemm.ab, {512, 1024, 1024}));
  cases->push_back(GemmCase("gemm_abt", gemm.abt, {64, 1024, 1024}));
  cases->push_back(GemmCase("gemm_abt", gemm.abt, {512, 1024, 1024}));
  cases->push_back(GemmCase("gemm_atb", gemm.atb, {784, 256, 64}));
  cases->push_back(GemmCase("gemm_atb", gemm.atb, {1024, 1024, 512}));
}

// The second convolution of the example model, over 16 images.
void AddConvolutions(std::vector<RateCase>* cases) {
  const Conv2DShape shape = MakeConv2DShape(
      /*batch=*/16, /*in_height=*/14, /*in_width=*/14, /*in_channels=*/16,
      /*out_channels=*/32, /*kernel=*/3, /*stride=*/1, /*same_padding=*/true);
  const auto input = Floats(16 * 14 * 14 * 16);
  const auto weight = Floats(3 * 3 * 16 * 32);
  const auto output = Floats(16 * 14 * 14 * 32);
  const auto workspace =
      FloatBuffer::Allocate(K().conv2d.workspace_floats(shape));
  const double flops = 2.0 * 16 * 14 * 14 * 32 * 3 * 3 * 16;
  cases->push_back(CaseOf("conv2d_forward", RateUnit::kFlops, flops, [=] {
    Conv2DForwardArgs args;
    args.shape = shape;
    args.input = input->data();
    args.weight = weight->data();
    args.output = output->data();
    args.workspace = workspace->data();
    K().conv2d.forward(args);
  }));
  const auto out_grad = Floats(output->size());
  const auto in_grad = Floats(input->size());
  cases->push_back(CaseOf("conv2d_input_grad", RateUnit::kFlops, flops, [=] {
    Conv2DInputGradArgs args;
    args.shape = shape;
    args.output_grad = out_grad->data();
    args.weight = weight->data();
    args.input_grad = in_grad->data();
    args.workspace = workspace->data();
    K().conv2d.input_grad(args);
  }));
  const auto weight_grad = Floats(weight->size());
  cases->push_back(CaseOf("conv2d_weight_grad", RateUnit::kFlops, flops, [=] {
    Conv2DWeightGradArgs args;
    args.shape = shape;
    args.input = input->data();
    args.output_grad = out_grad->data();
    args.weight_grad = weight_grad->data();
    args.workspace = workspace->data();
    K().conv2d.weight_grad(args);
  }));
}

constexpr int64_t kFloats = kKernelArrayBytes / int64_t{sizeof(float)};

void AddElementwise(std::vector<RateCase>* cases) {
  const auto x = Floats(kFloats);
  const auto y = Floats(kFloats);
  const auto z = Floats(kFloats);
  cases->push_back(BytesCase("relu_forward", 2 * kFloats, [=] {
    K().relu.forward(kFloats, x->data(), y->data());
  }));
  cases->push_back(BytesCase("relu_backward", 3 * kFloats, [=] {
    K().relu.backward(kFloats, x->data(), y->data(), z->data());
  }));
  cases->push_back(BytesCase("dropout", 2 * kFloats, [=] {
    DropoutArgs args;
    args.rows = 1024;
    args.dim = kFloats / 1024;
    args.key = MakeRandomKey(1, RandomStream::kDropout, 0, 0);
    args.rate = 0.25f;
    args.x = x->data();
    args.y = y->data();
    K().dropout.apply(args);
  }));
  cases->push_back(BytesCase("add", 3 * kFloats, [=] {
    K().tree_sum.add(kFloats, x->data(), y->data(), z->data());
  }));
  constexpr int64_t kInputs = 8;
  cases->push_back(BytesCase("tree_sum_8", kFloats + kFloats / kInputs, [=] {
    const float* inputs[kInputs];
    for (int64_t i = 0; i < kInputs; ++i) {
      inputs[i] = x->data() + i * (kFloats / kInputs);
    }
    K().tree_sum.tree_sum(kFloats / kInputs, kInputs, inputs, y->data());
  }));
}

void AddRows(std::vector<RateCase>* cases) {
  constexpr int64_t kDim = 1024;
  constexpr int64_t kRows = kFloats / kDim;
  const auto x = Floats(kFloats);
  const auto y = Floats(kFloats);
  const auto parameters = Floats(2 * kDim + 2 * kRows);
  cases->push_back(BytesCase("layer_norm_forward", 2 * kFloats, [=] {
    LayerNormForwardArgs args;
    args.rows = kRows;
    args.dim = kDim;
    args.x = x->data();
    args.y = y->data();
    args.gain = parameters->data();
    args.bias = parameters->data() + kDim;
    args.mean = parameters->data() + 2 * kDim;
    args.rstd = args.mean + kRows;
    K().layer_norm.forward(args);
  }));
  constexpr int64_t kClasses = 16;
  const auto labels = std::make_shared<std::vector<int32_t>>(
      static_cast<size_t>(kFloats / kClasses), 3);
  const auto loss = Floats(kFloats / kClasses);
  cases->push_back(BytesCase("softmax_cross_entropy", 2 * kFloats, [=] {
    SoftmaxCrossEntropyArgs args;
    args.rows = kFloats / kClasses;
    args.classes = kClasses;
    args.logits = x->data();
    args.labels = labels->data();
    args.loss = loss->data();
    args.grad = y->data();
    K().loss.softmax_cross_entropy(args);
  }));
}

// The bare loops; `selari bench apply` has what a shard does around them.
void AddUpdates(std::vector<RateCase>* cases) {
  const auto weights = Floats(kFloats);
  const auto grad = Floats(kFloats);
  const auto next = Floats(kFloats);
  const auto moment = Floats(kFloats);
  const auto square = FloatBuffer::Allocate(kFloats);
  std::fill_n(square->data(), kFloats, 0.125f);
  UpdateArrays arrays;
  arrays.n = kFloats;
  arrays.weights = weights->data();
  arrays.grad = grad->data();
  arrays.next_weights = next->data();
  arrays.slots[0] = moment->data();
  arrays.slots[1] = square->data();
  const GradientTerms gradient = {1.0f, 1.0f, 0.0f};
  const auto keep = std::make_shared<std::vector<std::shared_ptr<FloatBuffer>>>(
      std::vector<std::shared_ptr<FloatBuffer>>{weights, grad, next, moment,
                                                square});
  cases->push_back(BytesCase("sgd_update", 3 * kFloats, [=] {
    (void)keep;
    ChooseOptimizerKernels(DetectIsaLevel()).sgd({gradient, 0.01f}, arrays);
  }));
  cases->push_back(BytesCase("adam_update", 7 * kFloats, [=] {
    (void)keep;
    AdamTerms terms = {};
    terms.gradient = gradient;
    terms.moments = {0.9f, 0.1f, 0.999f, 0.001f};
    terms.epsilon = 1e-8f;
    terms.step_size = 0.001f;
    terms.root_correction = 1.0f;
    ChooseOptimizerKernels(DetectIsaLevel()).adam(terms, arrays);
  }));
}

}  // namespace

std::vector<RateCase> KernelCases() {
  std::vector<RateCase> cases;
  AddProducts(&cases);
  AddConvolutions(&cases);
  AddElementwise(&cases);
  AddRows(&cases);
  AddUpdates(&cases);
  return cases;
}

}  // namespace selari
