// Products of the shapes that training has: rows = a leaf of 8 samples, a batch
// of 64 or 512. "eigen" is Eigen's product at the same level, for comparison:
// it does not keep the contract (see micro_kernel.h).

#include <cstdint>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/float_buffer.h"
#include "kernels/eigen_gemm.h"
#include "kernels/kernel_benchmark.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

// The arrays of one product; reads the shape from the state's arguments.
struct Operands {
  explicit Operands(benchmark::State& state, const Kernels& kernels)
      : shape{state.range(0), state.range(1), state.range(2)},
        a(BenchmarkFloats(shape.rows * shape.depth)),
        b(BenchmarkFloats(shape.depth * shape.cols)),
        c(BenchmarkFloats(shape.rows * shape.cols)),
        workspace(FloatBuffer::Allocate(kernels.gemm.workspace_floats(shape))) {
    args.shape = shape;
    args.a = a->data();
    args.b = b->data();
    args.c = c->data();
    args.workspace = workspace->data();
  }

  const GemmShape shape;
  const std::shared_ptr<FloatBuffer> a, b, c, workspace;
  GemmArgs args;
};

template <class Multiply>
void Run(benchmark::State& state, const Operands& operands,
         const Multiply& multiply) {
  for (auto _ : state) {
    multiply(operands.args);
    benchmark::ClobberMemory();
  }
  const GemmShape& shape = operands.shape;
  SetFlops(state, 2 * shape.rows * shape.cols * shape.depth);
}

void Ab(benchmark::State& state, const Kernels& kernels) {
  Run(state, Operands(state, kernels), kernels.gemm.ab);
}

void Abt(benchmark::State& state, const Kernels& kernels) {
  Run(state, Operands(state, kernels), kernels.gemm.abt);
}

void Atb(benchmark::State& state, const Kernels& kernels) {
  Run(state, Operands(state, kernels), kernels.gemm.atb);
}

void EigenAb(benchmark::State& state, const Kernels& kernels) {
  Run(state, Operands(state, kernels), EigenGemmFor(kernels.level).ab);
}

void EigenAbt(benchmark::State& state, const Kernels& kernels) {
  Run(state, Operands(state, kernels), EigenGemmFor(kernels.level).abt);
}

void EigenAtb(benchmark::State& state, const Kernels& kernels) {
  Run(state, Operands(state, kernels), EigenGemmFor(kernels.level).atb);
}

// Eight leaves, as one pass.
void AtbLeaves(benchmark::State& state, const Kernels& kernels) {
  const Operands operands(state, kernels);
  std::vector<int64_t> leaf_begin;
  for (int64_t l = 0; l <= 8; ++l) {
    leaf_begin.push_back(operands.shape.depth * l / 8);
  }
  Run(state, operands, [&](const GemmArgs& args) {
    GemmLeavesArgs leaves;
    leaves.shape = args.shape;
    leaves.a = args.a;
    leaves.b = args.b;
    leaves.c = args.c;
    leaves.leaf_count = 8;
    leaves.leaf_begin = leaf_begin.data();
    leaves.workspace = args.workspace;
    kernels.gemm.atb_leaves(leaves);
  });
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  using selari::RegisterAtEachLevel;
  const std::vector<std::string> names = {"rows", "cols", "depth"};
  const std::vector<std::vector<int64_t>> forward = {
      {8, 256, 784}, {64, 256, 784},   {512, 256, 784},
      {64, 10, 128}, {64, 1024, 1024}, {512, 1024, 1024}};
  const std::vector<std::vector<int64_t>> input_grad = {
      {64, 256, 128}, {64, 128, 10}, {64, 1024, 1024}, {512, 1024, 1024}};
  const std::vector<std::vector<int64_t>> weight_grad = {{784, 256, 64},
                                                         {784, 256, 512},
                                                         {128, 10, 64},
                                                         {1024, 1024, 64},
                                                         {1024, 1024, 512}};
  RegisterAtEachLevel("ab", &selari::Ab, names, forward);
  RegisterAtEachLevel("ab_eigen", &selari::EigenAb, names, forward);
  RegisterAtEachLevel("abt", &selari::Abt, names, input_grad);
  RegisterAtEachLevel("abt_eigen", &selari::EigenAbt, names, input_grad);
  RegisterAtEachLevel("atb", &selari::Atb, names, weight_grad);
  RegisterAtEachLevel("atb_leaves", &selari::AtbLeaves, names, weight_grad);
  RegisterAtEachLevel("atb_eigen", &selari::EigenAtb, names, weight_grad);
  return selari::RunBenchmarks(argc, argv);
}
