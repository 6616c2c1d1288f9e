#include "kernels/kernel_benchmark.h"

#include "absl/types/span.h"
#include "common/isa.h"
#include "common/random.h"

namespace selari {

void RegisterAtEachLevel(const std::string& name, KernelBenchmark benchmark,
                         const std::vector<std::string>& arg_names,
                         const std::vector<std::vector<int64_t>>& args) {
  for (IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    if (level > DetectIsaLevel()) {
      return;
    }
    auto* registered = benchmark::RegisterBenchmark(
        (name + "/" + std::string(IsaLevelName(level))).c_str(),
        [benchmark, level](benchmark::State& state) {
          benchmark(state, KernelsFor(level));
        });
    registered->ArgNames(arg_names);
    for (const std::vector<int64_t>& values : args) {
      registered->Args(values);
    }
  }
}

int RunBenchmarks(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  return benchmark::RunSpecifiedBenchmarks() == 0;
}

std::shared_ptr<FloatBuffer> BenchmarkFloats(int64_t n) {
  std::shared_ptr<FloatBuffer> buffer = FloatBuffer::Allocate(n);
  FillUniform(MakeRandomKey(1, RandomStream::kTest), 0, -1.0f, 1.0f,
              absl::MakeSpan(buffer->data(), static_cast<size_t>(n)));
  return buffer;
}

void SetBytes(benchmark::State& state, int64_t floats_per_iteration) {
  state.SetBytesProcessed(state.iterations() * floats_per_iteration *
                          static_cast<int64_t>(sizeof(float)));
}

void SetFlops(benchmark::State& state, int64_t flops_per_iteration) {
  state.counters["flops"] =
      benchmark::Counter(static_cast<double>(flops_per_iteration),
                         benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace selari
