// ShardJob: what a shard must know of its job, worked out once from the
// ResolvedJob and shared by all shards of a process.
//
// Thread safety: immutable after Create.

#ifndef SELARI_SERVER_SHARD_SHARD_JOB_H_
#define SELARI_SERVER_SHARD_SHARD_JOB_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/chunk_layout.h"
#include "common/reduction_tree.h"
#include "selari/v1/job.pb.h"

namespace selari {

struct ShardJob {
  // INVALID_ARGUMENT names the field of the job that is impossible.
  static absl::StatusOr<std::shared_ptr<const ShardJob>> Create(
      const v1::ResolvedJob& job);

  ShardJob(v1::ResolvedJob resolved_job, ChunkLayout chunk_layout)
      : resolved(std::move(resolved_job)),
        layout(std::move(chunk_layout)),
        tree(resolved.job().training().leaf_count()) {}

  const v1::ResolvedJob resolved;
  const ChunkLayout layout;
  const ReductionTree tree;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_JOB_H_
