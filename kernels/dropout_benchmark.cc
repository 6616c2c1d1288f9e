#include <cstdint>

#include "benchmark/benchmark.h"
#include "kernels/dropout.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

void Dropout(benchmark::State& state, const Kernels& kernels) {
  DropoutArgs args;
  args.rows = state.range(0);
  args.dim = state.range(1);
  args.rate = 0.5f;
  const auto x = BenchmarkFloats(args.rows * args.dim);
  args.x = x->data();
  args.y = x->data();
  for (auto _ : state) {
    kernels.dropout.apply(args);
    benchmark::ClobberMemory();
  }
  SetBytes(state, 2 * args.rows * args.dim);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  selari::RegisterAtEachLevel("dropout", &selari::Dropout, {"rows", "dim"},
                              {{64, 128}, {8, 3136}});
  return selari::RunBenchmarks(argc, argv);
}
