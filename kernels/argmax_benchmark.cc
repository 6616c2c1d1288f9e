#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

void CountCorrect(benchmark::State& state, const Kernels& kernels) {
  const int64_t rows = state.range(0);
  const int64_t dim = state.range(1);
  const auto x = BenchmarkFloats(rows * dim);
  const std::vector<int32_t> labels(rows, 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        kernels.argmax.count_correct(rows, dim, x->data(), labels.data()));
  }
  SetBytes(state, rows * dim);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  selari::RegisterAtEachLevel("count_correct", &selari::CountCorrect,
                              {"rows", "dim"}, {{512, 10}});
  return selari::RunBenchmarks(argc, argv);
}
