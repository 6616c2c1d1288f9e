// Bytes of gradient per second that one shard takes in: finite check, reduce,
// update and publish on one core, beside memcpy of the same bytes.
//
//   bazel run //server/shard:shard_benchmark -- --benchmark_filter=/256$
//
// The argument is the size of the model in MiB. As a test it runs the small
// model once, so that it cannot rot.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/check.h"
#include "common/float_buffer.h"
#include "server/shard/push_loop.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

v1::ResolvedJob JobOf(const std::string& optimizer, int64_t floats) {
  v1::ResolvedJob resolved = MakeTestJob({{"w", floats}});
  v1::Job& job = *resolved.mutable_job();
  job.mutable_cluster()->set_shard_count(1);
  resolved.mutable_tensors(0)->clear_initializer();
  if (optimizer == "adam") {
    job.mutable_optimizer()->mutable_adam();
  } else if (optimizer == "momentum") {
    job.mutable_optimizer()->mutable_sgd()->set_momentum(0.9);
  }
  return resolved;
}

// Each of `nodes` is pushed for every chunk, step after step.
void PushAndApply(benchmark::State& state, const std::string& optimizer,
                  const std::vector<TreeNode>& nodes) {
  auto loop = PushLoop::Create(JobOf(optimizer, state.range(0) << 18), nodes);
  SELARI_CHECK(loop.ok());
  for (auto _ : state) {
    SELARI_CHECK((*loop)->Step().ok());
  }
  state.SetBytesProcessed(state.iterations() * (*loop)->bytes_per_step());
}

void Memcpy(benchmark::State& state) {
  const int64_t floats = state.range(0) << 18;
  const auto from = FloatBuffer::Allocate(floats);
  const auto to = FloatBuffer::Allocate(floats);
  std::fill_n(from->data(), floats, 1.0f);
  for (auto _ : state) {
    std::memcpy(to->data(), from->data(), from->size_bytes());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * from->size_bytes());
}

const std::vector<TreeNode> kOneWorker = {{3, 0}};
const std::vector<TreeNode> kTwoWorkers = {{2, 0}, {2, 1}};
const std::vector<TreeNode> kFourWorkers = {{1, 0}, {1, 1}, {1, 2}, {1, 3}};

BENCHMARK(Memcpy)->Arg(4)->Arg(256);
BENCHMARK_CAPTURE(PushAndApply, sgd, "sgd", kOneWorker)->Arg(4)->Arg(256);
BENCHMARK_CAPTURE(PushAndApply, momentum, "momentum", kOneWorker)
    ->Arg(4)
    ->Arg(256);
BENCHMARK_CAPTURE(PushAndApply, adam, "adam", kOneWorker)->Arg(4)->Arg(256);
BENCHMARK_CAPTURE(PushAndApply, sgd_two_workers, "sgd", kTwoWorkers)
    ->Arg(4)
    ->Arg(256);
BENCHMARK_CAPTURE(PushAndApply, sgd_four_workers, "sgd", kFourWorkers)
    ->Arg(4)
    ->Arg(256);
BENCHMARK_CAPTURE(PushAndApply, adam_two_workers, "adam", kTwoWorkers)
    ->Arg(4)
    ->Arg(256);

}  // namespace
}  // namespace selari
