#include <cstdint>

#include "benchmark/benchmark.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

void ForwardAndBackward(benchmark::State& state, const Kernels& kernels) {
  const int64_t n = state.range(0);
  const auto y = BenchmarkFloats(n);
  const auto grad = BenchmarkFloats(n);
  for (auto _ : state) {
    kernels.relu.forward(n, y->data(), y->data());
    kernels.relu.backward(n, y->data(), grad->data(), grad->data());
    benchmark::ClobberMemory();
  }
  SetBytes(state, 5 * n);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  selari::RegisterAtEachLevel("relu", &selari::ForwardAndBackward, {"n"},
                              {{2048}, {1 << 20}});
  return selari::RunBenchmarks(argc, argv);
}
