#include <cstdint>

#include "benchmark/benchmark.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"
#include "kernels/layer_norm.h"

namespace selari {
namespace {

void ForwardAndBackward(benchmark::State& state, const Kernels& kernels) {
  const int64_t rows = state.range(0);
  const int64_t dim = state.range(1);
  const auto x = BenchmarkFloats(rows * dim);
  const auto y = BenchmarkFloats(rows * dim);
  const auto parameters = BenchmarkFloats(5 * dim + 2 * rows);
  LayerNormForwardArgs forward;
  LayerNormBackwardArgs backward;
  forward.rows = backward.rows = rows;
  forward.dim = backward.dim = dim;
  forward.x = backward.x = x->data();
  forward.y = y->data();
  backward.output_grad = backward.input_grad = y->data();
  forward.gain = backward.gain = parameters->data();
  forward.bias = parameters->data() + dim;
  backward.gain_grad = parameters->data() + 2 * dim;
  backward.bias_grad = parameters->data() + 3 * dim;
  backward.workspace = parameters->data() + 4 * dim;
  forward.mean = parameters->data() + 5 * dim;
  forward.rstd = forward.mean + rows;
  backward.mean = forward.mean;
  backward.rstd = forward.rstd;
  for (auto _ : state) {
    kernels.layer_norm.forward(forward);
    kernels.layer_norm.backward(backward);
    benchmark::ClobberMemory();
  }
  SetBytes(state, 6 * rows * dim);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  selari::RegisterAtEachLevel("layer_norm", &selari::ForwardAndBackward,
                              {"rows", "dim"}, {{64, 128}, {64, 1024}});
  return selari::RunBenchmarks(argc, argv);
}
