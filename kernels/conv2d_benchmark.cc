// The convolutions of a small network on 28×28 images, a leaf of 8 samples.

#include <cstdint>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/float_buffer.h"
#include "kernels/conv2d.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

struct Operands {
  Operands(benchmark::State& state, const Kernels& kernels)
      : shape(MakeConv2DShape(state.range(0), state.range(1), state.range(1),
                              state.range(2), state.range(3), state.range(4),
                              /*stride=*/1, /*same_padding=*/true)),
        input(BenchmarkFloats(shape.batch * shape.in_height * shape.in_width *
                              shape.in_channels)),
        weight(BenchmarkFloats(shape.kernel * shape.kernel * shape.in_channels *
                               shape.out_channels)),
        output(BenchmarkFloats(shape.batch * shape.out_height *
                               shape.out_width * shape.out_channels)),
        workspace(
            FloatBuffer::Allocate(kernels.conv2d.workspace_floats(shape))) {
    SetFlops(state, 2 * output->size() * shape.kernel * shape.kernel *
                        shape.in_channels);
  }

  const Conv2DShape shape;
  const std::shared_ptr<FloatBuffer> input, weight, output, workspace;
};

void Forward(benchmark::State& state, const Kernels& kernels) {
  const Operands operands(state, kernels);
  Conv2DForwardArgs args;
  args.shape = operands.shape;
  args.input = operands.input->data();
  args.weight = operands.weight->data();
  args.output = operands.output->data();
  args.epilogue.relu = true;
  args.workspace = operands.workspace->data();
  for (auto _ : state) {
    kernels.conv2d.forward(args);
    benchmark::ClobberMemory();
  }
}

void InputGrad(benchmark::State& state, const Kernels& kernels) {
  const Operands operands(state, kernels);
  Conv2DInputGradArgs args;
  args.shape = operands.shape;
  args.output_grad = operands.output->data();
  args.weight = operands.weight->data();
  args.input_grad = operands.input->data();
  args.workspace = operands.workspace->data();
  for (auto _ : state) {
    kernels.conv2d.input_grad(args);
    benchmark::ClobberMemory();
  }
}

void WeightGrad(benchmark::State& state, const Kernels& kernels) {
  const Operands operands(state, kernels);
  Conv2DWeightGradArgs args;
  args.shape = operands.shape;
  args.input = operands.input->data();
  args.output_grad = operands.output->data();
  args.weight_grad = operands.weight->data();
  args.workspace = operands.workspace->data();
  for (auto _ : state) {
    kernels.conv2d.weight_grad(args);
    benchmark::ClobberMemory();
  }
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  using selari::RegisterAtEachLevel;
  const std::vector<std::string> names = {"batch", "size", "channels",
                                          "filters", "kernel"};
  const std::vector<std::vector<int64_t>> shapes = {{8, 28, 1, 16, 3},
                                                    {8, 28, 1, 32, 5},
                                                    {8, 14, 16, 32, 3},
                                                    {8, 14, 32, 64, 3}};
  RegisterAtEachLevel("forward", &selari::Forward, names, shapes);
  RegisterAtEachLevel("input_grad", &selari::InputGrad, names, shapes);
  RegisterAtEachLevel("weight_grad", &selari::WeightGrad, names, shapes);
  return selari::RunBenchmarks(argc, argv);
}
