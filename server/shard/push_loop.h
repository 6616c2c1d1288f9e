// PushLoop: one shard that takes in the same gradients, step after step, on
// the calling thread: what benchmarks of the shard time.
//
//   SELARI_ASSIGN_OR_RETURN(auto loop, PushLoop::Create(job, {{3, 0}}));
//   SELARI_RETURN_IF_ERROR(loop->Step());   // as often as you like
//
// Thread safety: one thread calls.

#ifndef SELARI_SERVER_SHARD_PUSH_LOOP_H_
#define SELARI_SERVER_SHARD_PUSH_LOOP_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/float_buffer.h"
#include "common/reduction_tree.h"
#include "selari/v1/job.pb.h"
#include "server/shard/shard.h"
#include "server/shard/shard_job.h"

namespace selari {

class PushLoop {
 public:
  // Hosts shard 0 with initial values. In each step all of `nodes`, which
  // cover the job's leaves once, are pushed for each of its chunks. Errors as
  // ShardJob::Create; INVALID_ARGUMENT unless the job is SYNC with one shard.
  static absl::StatusOr<std::unique_ptr<PushLoop>> Create(
      const v1::ResolvedJob& job, std::vector<TreeNode> nodes);

  // Finite check, reduce, update and publish of every chunk; sums over the
  // model too where the optimizer needs them. The shard's refusal, if any.
  absl::Status Step();

  // Bytes of gradient that a step takes in, from all nodes.
  int64_t bytes_per_step() const {
    return floats_ * int64_t{sizeof(float)} *
           static_cast<int64_t>(nodes_.size());
  }

 private:
  PushLoop(std::shared_ptr<const ShardJob> job, std::vector<TreeNode> nodes);

  void Push(const ChunkSpec& chunk);
  // Counts acknowledgements, keeps partial sums, and returns a refusal.
  absl::Status TakeReplies();
  void SendTotals(int round);

  const std::shared_ptr<const ShardJob> job_;
  const std::vector<TreeNode> nodes_;
  int64_t floats_ = 0;
  Shard shard_;
  Shard::Replies replies_;
  std::vector<std::vector<std::shared_ptr<FloatBuffer>>>
      gradients_;                       // by node, then tensor
  std::vector<int32_t> chunk_tensors_;  // by chunk
  // The sums of the round under way, (chunks, sum_count).
  std::vector<double> partials_;
  int64_t acknowledged_ = 0;  // in this step
  int64_t step_ = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_PUSH_LOOP_H_
