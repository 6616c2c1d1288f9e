// Rows of a dense layer and of a convolution's pixels.

#include <cstdint>

#include "benchmark/benchmark.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

void Add(benchmark::State& state, const Kernels& kernels) {
  const int64_t rows = state.range(0);
  const int64_t dim = state.range(1);
  const auto x = BenchmarkFloats(rows * dim);
  const auto bias = BenchmarkFloats(dim);
  for (auto _ : state) {
    kernels.bias.add(rows, dim, x->data(), bias->data(), x->data());
    benchmark::ClobberMemory();
  }
  SetBytes(state, 2 * rows * dim);
}

void Grad(benchmark::State& state, const Kernels& kernels) {
  const int64_t rows = state.range(0);
  const int64_t dim = state.range(1);
  const auto grad = BenchmarkFloats(rows * dim);
  const auto bias_grad = BenchmarkFloats(dim);
  for (auto _ : state) {
    kernels.bias.grad(rows, dim, grad->data(), bias_grad->data());
    benchmark::ClobberMemory();
  }
  SetBytes(state, rows * dim);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  using selari::RegisterAtEachLevel;
  RegisterAtEachLevel("add", &selari::Add, {"rows", "dim"},
                      {{64, 256}, {6272, 16}});
  RegisterAtEachLevel("grad", &selari::Grad, {"rows", "dim"},
                      {{64, 10}, {64, 256}, {6272, 16}});
  return selari::RunBenchmarks(argc, argv);
}
