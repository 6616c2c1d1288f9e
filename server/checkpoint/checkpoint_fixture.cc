#include "server/checkpoint/checkpoint_fixture.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/chunk_layout.h"
#include "common/file_env.h"
#include "common/float_buffer.h"
#include "common/job_layout.h"
#include "common/shard_snapshot.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "selari/v1/job.pb.h"
#include "selari/v1/tensor.pb.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/checkpoint/publish.h"
#include "server/checkpoint/shard_file.h"

namespace selari {
namespace {

ChunkState ExampleChunk(const ChunkSpec& spec, const ExampleOptions& options) {
  ChunkState state;
  state.chunk = spec.chunk;
  state.tensor = spec.tensor;
  state.offset = spec.offset;
  state.version = options.step;
  const std::shared_ptr<FloatBuffer> weights =
      FloatBuffer::Allocate(spec.count);
  const std::shared_ptr<FloatBuffer> slots =
      FloatBuffer::Allocate(spec.count * options.slot_count);
  for (int64_t i = 0; i < spec.count; ++i) {
    weights->data()[i] = ExampleValue(spec.tensor, 0, spec.offset + i);
    for (int32_t slot = 0; slot < options.slot_count; ++slot) {
      slots->data()[slot * spec.count + i] =
          ExampleValue(spec.tensor, 1 + slot, spec.offset + i);
    }
  }
  state.weights = weights;
  if (options.slot_count > 0) {
    state.slots = slots;
  }
  return state;
}

}  // namespace

v1::ResolvedJob ExampleJob(const ExampleOptions& options) {
  v1::ResolvedJob job;
  job.set_job_id(options.job_id);
  job.mutable_job()->set_name("example");
  job.mutable_job()->mutable_cluster()->set_shard_count(options.shard_count);
  v1::Optimizer& optimizer = *job.mutable_job()->mutable_optimizer();
  optimizer.set_learning_rate(0.1);
  if (options.slot_count == 0) {
    optimizer.mutable_sgd();
  } else {
    optimizer.mutable_adam();
  }
  v1::TensorSpec& weights = *job.add_tensors();
  weights.set_name("dense1/w");
  weights.add_shape(40);
  weights.add_shape(30);
  v1::TensorSpec& bias = *job.add_tensors();
  bias.set_name("dense1/b");
  bias.add_shape(30);
  job.add_tensors()->set_name("scale");
  return job;
}

float ExampleValue(int32_t tensor, int32_t array, int64_t element) {
  // Exact in fp32: below 2^24.
  return static_cast<float>(element + 2000 * (10 * array + tensor)) / 8;
}

std::vector<ShardSnapshot> ExampleSnapshots(const ExampleOptions& options) {
  const ChunkLayout layout = MakeChunkLayout(ExampleJob(options)).value();
  std::vector<ShardSnapshot> snapshots;
  for (int32_t shard = 0; shard < layout.shard_count(); ++shard) {
    ShardSnapshot snapshot;
    snapshot.shard = shard;
    snapshot.version = options.step;
    for (const ChunkSpec& spec : layout.ChunksOfShard(shard)) {
      snapshot.chunks.push_back(ExampleChunk(spec, options));
    }
    // The second incarnation does not fit a signed number.
    snapshot.workers = {{0, 11, 100 + shard, options.step},
                        {1, 0xfedcba9876543210, 200 + shard, options.step}};
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

absl::StatusOr<std::string> WriteExample(FileEnv& env,
                                         absl::string_view checkpoints_dir,
                                         const ExampleOptions& options) {
  v1::CheckpointManifest manifest;
  *manifest.mutable_job() = ExampleJob(options);
  manifest.set_step(options.step);
  manifest.set_publish_time_ms(1'700'000'000'000);
  manifest.set_program_version("test");
  for (int32_t worker = 0; worker < 2; ++worker) {
    v1::WorkerClock& clock = *manifest.add_worker_clocks();
    clock.set_worker_id(worker);
    clock.set_clock(options.step);
  }
  SELARI_ASSIGN_OR_RETURN(
      const std::string attempt,
      BeginCheckpoint(env, checkpoints_dir, options.step, "a"));
  for (const ShardSnapshot& snapshot : ExampleSnapshots(options)) {
    SELARI_ASSIGN_OR_RETURN(
        *manifest.add_shards(),
        WriteShardFile(env, attempt, manifest.job(), snapshot));
  }
  SELARI_RETURN_IF_ERROR(
      PublishCheckpoint(env, checkpoints_dir, attempt, manifest).status());
  return JoinPath(checkpoints_dir, CheckpointName(options.step));
}

}  // namespace selari
