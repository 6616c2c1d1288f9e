// RequestBook: what a client has asked of the shards and not been answered:
// pushes, pulls, rounds of sums, and what is to be asked again when. The logic
// of the parameter client without its locks, threads and clock.
//
// Not thread-safe, but the memory that BeginFill gives may be written without
// the caller's lock until EndFill.

#ifndef SELARI_WORKER_CLIENT_REQUEST_BOOK_H_
#define SELARI_WORKER_CLIENT_REQUEST_BOOK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/chunk_layout.h"
#include "common/float_buffer.h"
#include "common/shard_message.h"
#include "selari/v1/job.pb.h"
#include "worker/client/push_lane.h"
#include "worker/client/reduction_collector.h"
#include "worker/client/tensor_inbox.h"

namespace selari {

class RequestBook {
 public:
  // REQUIRES: `layout` is the job's. `source` makes the memory that weights are
  // put into, at the first RequestPull.
  RequestBook(const v1::ResolvedJob& job, ChunkLayout layout,
              BufferSource source);
  RequestBook(const RequestBook&) = delete;
  RequestBook& operator=(const RequestBook&) = delete;

  const TensorInbox& inbox(int32_t tensor) const { return inboxes_[tensor]; }
  const std::string& tensor_name(int32_t tensor) const {
    return tensor_names_[tensor];
  }

  // Asks for the tensor: SYNC: with exactly `min_version` updates.
  // REQUIRES: !inbox(tensor).filling().
  void RequestPull(int32_t tensor, int64_t min_version);
  // Asks for it as it is. REQUIRES: !inbox(tensor).filling().
  void RequestAsItIs(int32_t tensor);
  // Sends the gradient in chunks. REQUIRES: it has the tensor's size.
  void Push(int64_t step, TreeNode node, int32_t tensor,
            const std::shared_ptr<const FloatBuffer>& gradient);
  // Sends one chunk's gradient; the push gets its sequence number here.
  // REQUIRES: the chunk is of the job.
  void Push(ChunkPush push);

  // Where a value's weights go, to be followed by EndFill; null when it is not
  // wanted (any more).
  float* BeginFill(const ChunkValue& value);
  // True when the chunk's tensor is complete.
  bool EndFill(int32_t chunk);
  // Any reply that is no value. `now_ms`: when retries start to count.
  void Take(const PushAck& ack, int64_t now_ms);
  void Take(const ReductionPartials& partials, int64_t now_ms);
  void Take(const RequestError& error, int64_t now_ms);

  // The first error that no retry can mend, or that Fail was given. ABORTED
  // with reason JOB_STOPPED when the job ended early.
  const absl::Status& failure() const { return failure_; }
  void Fail(const absl::Status& status);

  // What is to be sent now, in order.
  std::vector<ShardRequest> TakeOutbox();
  bool outbox_empty() const { return outbox_.empty(); }
  // All that these shards have not answered, in order, for a new connection.
  // What the connection before might still write to is left to it.
  // REQUIRES: !filling().
  std::vector<ShardRequest> Unanswered(const std::vector<int32_t>& shards);
  // A value of some tensor is being written.
  bool filling() const;

  // When QueueRetries has something to do; nothing when there is no retry.
  std::optional<int64_t> NextRetryMs() const;
  // Puts into the outbox what was refused for now and is due.
  void QueueRetries(int64_t now_ms);

  // Shards with pushes that are not acknowledged, ascending.
  std::vector<int32_t> UnacknowledgedShards() const;
  bool AllAcknowledged() const { return unacknowledged_count_ == 0; }

  // For people: what a pull or a flush waits for.
  std::string DescribePull(int32_t tensor) const;
  std::string DescribeFlush() const;

 private:
  // False, and the book fails, for a chunk that the job does not have.
  bool KnowsChunk(int32_t chunk);
  void Retry(const RequestError& error, int64_t at_ms);
  void Request(int32_t tensor, int64_t min_version, bool exact);

  const ChunkLayout layout_;
  const bool sync_;
  const BufferSource source_;
  const std::vector<std::string> tensor_names_;
  std::vector<PushLane> lanes_;       // by shard
  int64_t unacknowledged_count_ = 0;  // pushes kept in lanes_
  std::vector<TensorInbox> inboxes_;  // by tensor
  ReductionCollector collector_;
  std::map<int32_t, int64_t> pull_retries_;  // chunk to time
  std::vector<ShardRequest> outbox_;
  absl::Status failure_;
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_REQUEST_BOOK_H_
