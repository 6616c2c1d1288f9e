#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"
#include "kernels/loss.h"

namespace selari {
namespace {

void SoftmaxCrossEntropy(benchmark::State& state, const Kernels& kernels) {
  SoftmaxCrossEntropyArgs args;
  args.rows = state.range(0);
  args.classes = state.range(1);
  const auto logits = BenchmarkFloats(args.rows * args.classes);
  const auto grad = BenchmarkFloats(args.rows * args.classes);
  const auto loss = BenchmarkFloats(args.rows);
  const std::vector<int32_t> labels(args.rows, 0);
  args.logits = logits->data();
  args.grad = grad->data();
  args.loss = loss->data();
  args.labels = labels.data();
  for (auto _ : state) {
    kernels.loss.softmax_cross_entropy(args);
    benchmark::ClobberMemory();
  }
  SetBytes(state, 2 * args.rows * args.classes);
}

void Logistic(benchmark::State& state, const Kernels& kernels) {
  LogisticArgs args;
  args.rows = state.range(0);
  const auto logits = BenchmarkFloats(args.rows);
  const auto grad = BenchmarkFloats(args.rows);
  const auto loss = BenchmarkFloats(args.rows);
  const std::vector<int32_t> labels(args.rows, 1);
  args.logits = logits->data();
  args.grad = grad->data();
  args.loss = loss->data();
  args.labels = labels.data();
  for (auto _ : state) {
    kernels.loss.logistic(args);
    benchmark::ClobberMemory();
  }
  SetBytes(state, 4 * args.rows);
}

void SquaredError(benchmark::State& state, const Kernels& kernels) {
  SquaredErrorArgs args;
  args.rows = state.range(0);
  args.dim = state.range(1);
  const auto predicted = BenchmarkFloats(args.rows * args.dim);
  const auto target = BenchmarkFloats(args.rows * args.dim);
  const auto loss = BenchmarkFloats(args.rows);
  const auto grad = BenchmarkFloats(args.rows * args.dim);
  args.predicted = predicted->data();
  args.target = target->data();
  args.loss = loss->data();
  args.grad = grad->data();
  for (auto _ : state) {
    kernels.loss.squared_error(args);
    benchmark::ClobberMemory();
  }
  SetBytes(state, 3 * args.rows * args.dim);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  using selari::RegisterAtEachLevel;
  RegisterAtEachLevel("softmax_cross_entropy", &selari::SoftmaxCrossEntropy,
                      {"rows", "classes"}, {{64, 10}, {64, 1000}});
  RegisterAtEachLevel("logistic", &selari::Logistic, {"rows"}, {{512}});
  RegisterAtEachLevel("squared_error", &selari::SquaredError, {"rows", "dim"},
                      {{64, 1}, {64, 1000}});
  return selari::RunBenchmarks(argc, argv);
}
