// What the benchmarks of all operations share: registration at each
// instruction-set level, and arrays of reproducible numbers.
//
//   int main(int argc, char** argv) {
//     RegisterAtEachLevel("relu", &Relu, {"n"}, {{4096}, {1 << 20}});
//     return RunBenchmarks(argc, argv);
//   }
//
// `bazel run //kernels:relu_benchmark` measures; as a test the same
// binary runs each case once, so that it cannot rot.

#ifndef SELARI_KERNELS_KERNEL_BENCHMARK_H_
#define SELARI_KERNELS_KERNEL_BENCHMARK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/float_buffer.h"
#include "kernels/kernels.h"

namespace selari {

using KernelBenchmark = void (*)(benchmark::State& state,
                                 const Kernels& kernels);

// One benchmark for each level of this processor and each element of `args`,
// which state.range(i) gives under the name arg_names[i].
void RegisterAtEachLevel(const std::string& name, KernelBenchmark benchmark,
                         const std::vector<std::string>& arg_names,
                         const std::vector<std::vector<int64_t>>& args);

int RunBenchmarks(int argc, char** argv);

// n numbers in [−1, 1), 64-byte aligned.
std::shared_ptr<FloatBuffer> BenchmarkFloats(int64_t n);

// Reports bytes read and written, and floating-point operations, per second.
void SetBytes(benchmark::State& state, int64_t floats_per_iteration);
void SetFlops(benchmark::State& state, int64_t flops_per_iteration);

}  // namespace selari

#endif  // SELARI_KERNELS_KERNEL_BENCHMARK_H_
