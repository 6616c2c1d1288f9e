// ShardJob: what a shard must know of its job, worked out once from the
// ResolvedJob and shared by all shards of a process.
//
// Thread safety: immutable after Create.

#ifndef SELARI_SERVER_SHARD_SHARD_JOB_H_
#define SELARI_SERVER_SHARD_SHARD_JOB_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/chunk_layout.h"
#include "common/reduction_tree.h"
#include "kernels/compression/compression_kernels.h"
#include "kernels/optimizer/optimizer_kernels.h"
#include "selari/v1/job.pb.h"
#include "server/shard/optimizer/optimizer.h"
#include "server/shard/optimizer/schedule/learning_rate.h"
#include "server/shard/reduction_program.h"

namespace selari {

struct ShardJob {
  // INVALID_ARGUMENT names the field of the job that is impossible;
  // FAILED_PRECONDITION when the processor lacks the job's instruction set.
  // REQUIRES: resolved.job() passed ValidateJob (common/job_config.h).
  static absl::StatusOr<std::shared_ptr<const ShardJob>> Create(
      const v1::ResolvedJob& resolved);

  const v1::TensorSpec& tensor(const ChunkSpec& chunk) const {
    return resolved.tensors(chunk.tensor);
  }
  bool sync() const { return consistency == v1::CONSISTENCY_SYNC; }

  const v1::ResolvedJob resolved;
  const ChunkLayout layout;
  const ReductionTree tree;
  const v1::Consistency consistency;  // never UNSPECIFIED
  const int32_t staleness;            // CONSISTENCY_BOUNDED only
  const std::unique_ptr<const Optimizer> optimizer;
  const LearningRate learning_rate;
  const OptimizerKernels& optimizer_kernels;
  const CompressionKernels& compression_kernels;
  const AddFunction add;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_JOB_H_
