// PushLane: the pushes to one shard that it has not acknowledged, and when
// those it refused for now go out again.
//
// Not thread-safe.

#ifndef SELARI_WORKER_CLIENT_PUSH_LANE_H_
#define SELARI_WORKER_CLIENT_PUSH_LANE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "common/shard_message.h"

namespace selari {

class PushLane {
 public:
  // Gives the push the next sequence number and keeps it. Returns it when it
  // may go out now, nothing while the lane waits to send earlier ones again:
  // a shard takes sequence numbers without gaps only.
  std::optional<ChunkPush> Add(ChunkPush push);

  // The shard has the push for good. False for one that is not kept.
  bool Acknowledge(int64_t sequence);

  // The shard refused the push for now: it and those after it go out again at
  // `at_ms`, or earlier if that was planned for one before it.
  void Retry(int64_t sequence, int64_t at_ms);
  // When TakeRetries has something to give.
  std::optional<int64_t> retry_at_ms() const { return retry_at_ms_; }
  // The pushes to send again, in order, if their time has come.
  std::vector<ChunkPush> TakeRetries(int64_t now_ms);

  // All that is kept, in order, to be sent on a new connection; includes what
  // was to be retried.
  std::vector<ChunkPush> TakeAll();

  bool empty() const { return unacknowledged_.empty(); }
  // Retries since the last acknowledgement.
  int64_t retry_count() const { return retry_count_; }

 private:
  int64_t last_sequence_ = 0;
  std::map<int64_t, ChunkPush> unacknowledged_;  // by sequence
  std::optional<int64_t> retry_at_ms_;
  int64_t retry_from_ = 0;  // sequence; meaningful with retry_at_ms_
  int64_t retry_count_ = 0;
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_PUSH_LANE_H_
