// The sum of a layer's gradients over the leaves.

#include <cstdint>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/float_buffer.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

void TreeSum(benchmark::State& state, const Kernels& kernels) {
  const int64_t n = state.range(0);
  const int64_t count = state.range(1);
  std::vector<std::shared_ptr<FloatBuffer>> buffers;
  std::vector<const float*> inputs;
  for (int64_t i = 0; i < count; ++i) {
    buffers.push_back(BenchmarkFloats(n));
    inputs.push_back(buffers.back()->data());
  }
  const auto sum = BenchmarkFloats(n);
  for (auto _ : state) {
    kernels.tree_sum.tree_sum(n, count, inputs.data(), sum->data());
    benchmark::ClobberMemory();
  }
  SetBytes(state, (count + 1) * n);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  selari::RegisterAtEachLevel("tree_sum", &selari::TreeSum, {"n", "count"},
                              {{65536, 2}, {65536, 8}, {65536, 64}});
  return selari::RunBenchmarks(argc, argv);
}
