#include <cstdint>

#include "benchmark/benchmark.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

void Exp(benchmark::State& state, const Kernels& kernels) {
  const int64_t n = state.range(0);
  const auto x = BenchmarkFloats(n);
  const auto y = BenchmarkFloats(n);
  for (auto _ : state) {
    kernels.elementary.exp(n, x->data(), y->data());
    benchmark::ClobberMemory();
  }
  SetBytes(state, 2 * n);
}

void Log(benchmark::State& state, const Kernels& kernels) {
  const int64_t n = state.range(0);
  const auto x = BenchmarkFloats(n);
  const auto y = BenchmarkFloats(n);
  for (auto _ : state) {
    kernels.elementary.log(n, x->data(), y->data());
    benchmark::ClobberMemory();
  }
  SetBytes(state, 2 * n);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  using selari::RegisterAtEachLevel;
  RegisterAtEachLevel("exp", &selari::Exp, {"n"}, {{4096}});
  RegisterAtEachLevel("log", &selari::Log, {"n"}, {{4096}});
  return selari::RunBenchmarks(argc, argv);
}
