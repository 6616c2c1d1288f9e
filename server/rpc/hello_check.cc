#include "server/rpc/hello_check.h"

#include <algorithm>

#include "common/status.h"

namespace selari {

absl::Status CheckCaller(const ShardJob* job, const std::string& job_id,
                         const WorkerIdentity& worker) {
  if (job == nullptr) {
    constexpr int32_t kRetryAfterMs = 100;
    return WithReason(
        absl::UnavailableError("the server waits to be given its shards"),
        ErrorReason::kNotInitialized, kRetryAfterMs);
  }
  if (job_id != job->resolved.job_id()) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "this server runs job ", job->resolved.job_id(),
                          ", not ", job_id.empty() ? "none" : job_id)),
                      ErrorReason::kWrongJob);
  }
  const int32_t workers = job->resolved.job().cluster().workers();
  if (worker.worker_id < 0 || worker.worker_id >= workers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "worker_id is ", worker.worker_id, ", must be in [0, ", workers, ")"));
  }
  if (worker.incarnation == 0) {
    return absl::InvalidArgumentError("worker_incarnation must not be 0");
  }
  return absl::OkStatus();
}

int64_t WindowBytes(const ShardJob& job, const std::vector<int32_t>& shards) {
  constexpr int64_t kWindowBytesMin = int64_t{32} << 20;
  int64_t step_bytes = 0;
  for (const int32_t shard : shards) {
    for (const ChunkSpec& chunk : job.layout.ChunksOfShard(shard)) {
      step_bytes += chunk.count * int64_t{sizeof(float)};
    }
  }
  // Any range of leaves is covered by at most two nodes of each level.
  const int64_t nodes_max = 2 * int64_t{job.tree.root().level + 1};
  return std::max(kWindowBytesMin, step_bytes * nodes_max);
}

}  // namespace selari
