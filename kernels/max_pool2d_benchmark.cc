// Pooling after the convolutions of a small network, a leaf of 8 samples.

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"
#include "kernels/max_pool2d.h"

namespace selari {
namespace {

void ForwardAndBackward(benchmark::State& state, const Kernels& kernels) {
  const MaxPool2DShape shape = MakeMaxPool2DShape(
      8, state.range(0), state.range(0), state.range(1), 2, 2);
  const int64_t in_size = 8 * shape.in_height * shape.in_width * shape.channels;
  const int64_t out_size =
      8 * shape.out_height * shape.out_width * shape.channels;
  const auto input = BenchmarkFloats(in_size);
  const auto output = BenchmarkFloats(out_size);
  std::vector<int32_t> argmax(out_size);
  for (auto _ : state) {
    kernels.max_pool2d.forward(shape, input->data(), output->data(),
                               argmax.data());
    kernels.max_pool2d.backward(shape, output->data(), argmax.data(),
                                input->data());
    benchmark::ClobberMemory();
  }
  SetBytes(state, 2 * in_size + 4 * out_size);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  selari::RegisterAtEachLevel("max_pool2d", &selari::ForwardAndBackward,
                              {"size", "channels"}, {{28, 16}, {14, 32}});
  return selari::RunBenchmarks(argc, argv);
}
