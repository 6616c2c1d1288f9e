// Updates in bytes of gradient a second, beside memcpy in the same run: what
// memory allows. Arrays of 256 KiB are one chunk, in cache; 32 MiB are not.
//
//   bazel run //kernels/optimizer:optimizer_kernels_benchmark --
//       --benchmark_filter=/ --benchmark_min_time=0.1 --benchmark_repetitions=5

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/isa.h"
#include "kernels/optimizer/choose_optimizer_kernels.h"
#include "kernels/optimizer/optimizer_kernels.h"

namespace selari {
namespace {

constexpr int64_t kChunkFloats = 64 * 1024;
constexpr int64_t kLargeFloats = 8 * 1024 * 1024;

const GradientTerms kGradient = {1.0f, 0.5f, 0.01f};
const MomentTerms kMoments = {0.9f, 0.1f, 0.999f, 0.001f};

using Run = void (*)(const OptimizerKernels&, const UpdateArrays&);

// The arrays of an update, filled so that no operand is denormal.
class Arrays {
 public:
  explicit Arrays(int64_t n)
      : weights_(n, 0.5f), grad_(n, 0.25f), next_weights_(n) {
    for (std::vector<float>& slot : slots_) {
      slot.assign(n, 0.125f);
    }
  }

  UpdateArrays View() {
    UpdateArrays arrays;
    arrays.n = static_cast<int64_t>(weights_.size());
    arrays.weights = weights_.data();
    arrays.grad = grad_.data();
    for (int slot = 0; slot < kSlotCountMax; ++slot) {
      arrays.slots[slot] = slots_[slot].data();
    }
    arrays.next_weights = next_weights_.data();
    return arrays;
  }

 private:
  std::vector<float> weights_;
  std::vector<float> grad_;
  std::vector<float> slots_[kSlotCountMax];
  std::vector<float> next_weights_;
};

void BM_Update(benchmark::State& state, Run run, IsaLevel level) {
  const OptimizerKernels& kernels = ChooseOptimizerKernels(level);
  Arrays arrays(state.range(0));
  const UpdateArrays view = arrays.View();
  for (auto _ : state) {
    run(kernels, view);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * view.n *
                          static_cast<int64_t>(sizeof(float)));
}

void BM_Memcpy(benchmark::State& state) {
  Arrays arrays(state.range(0));
  const UpdateArrays view = arrays.View();
  const size_t bytes = static_cast<size_t>(view.n) * sizeof(float);
  for (auto _ : state) {
    std::memcpy(view.next_weights, view.grad, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

struct NamedRun {
  const char* name;
  Run run;
};

const NamedRun kRuns[] = {
    {"sgd",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       k.sgd({kGradient, 1e-6f}, a);
     }},
    {"heavy_ball",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       k.heavy_ball({kGradient, 1e-6f, 0.9f}, a);
     }},
    {"nesterov",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       k.nesterov({kGradient, 1e-6f, 0.9f}, a);
     }},
    {"adagrad",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       k.adagrad({kGradient, 1e-6f, 1e-10f}, a);
     }},
    {"rms_prop",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       k.rms_prop({kGradient, 1e-6f, 0.9f, 0.1f, 1e-8f, 0}, a);
     }},
    {"rms_prop_momentum",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       k.rms_prop_momentum({kGradient, 1e-6f, 0.9f, 0.1f, 1e-8f, 0.9f}, a);
     }},
    {"adam",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       k.adam({kGradient, kMoments, 1e-8f, 1e-6f, 1, 0}, a);
     }},
    {"lamb",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       k.lamb({kGradient, kMoments, 1e-6f, 1, 1, 0.01f, 1e-6f}, a);
     }},
    {"lamb_sums",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       double sums[2];
       k.lamb_sums({kGradient, kMoments, 1e-6f, 1, 1, 0.01f, 0}, a, sums);
       benchmark::DoNotOptimize(sums);
     }},
    {"sum_of_squares",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       benchmark::DoNotOptimize(k.sum_of_squares(1, a.grad, a.n));
     }},
    {"all_finite",
     [](const OptimizerKernels& k, const UpdateArrays& a) {
       benchmark::DoNotOptimize(k.all_finite(a.grad, a.n));
     }},
};

void RegisterAll() {
  benchmark::RegisterBenchmark("memcpy", BM_Memcpy)
      ->Arg(kChunkFloats)
      ->Arg(kLargeFloats);
  for (const NamedRun& named : kRuns) {
    for (const IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
      if (level > DetectIsaLevel()) {
        continue;
      }
      const std::string name =
          std::string(named.name) + "/" + std::string(IsaLevelName(level));
      benchmark::RegisterBenchmark(name.c_str(), BM_Update, named.run, level)
          ->Arg(kChunkFloats)
          ->Arg(kLargeFloats);
    }
  }
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 1;
  }
  selari::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
