// What goes in and out of a ShardHost beside requests.

#ifndef SELARI_SERVER_SHARD_SHARD_HOST_TYPES_H_
#define SELARI_SERVER_SHARD_SHARD_HOST_TYPES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "common/shard_message.h"
#include "server/shard/shard_counters.h"
#include "server/shard/shard_log.h"
#include "server/shard/shard_state.h"

namespace selari {

// Takes the replies for one session. Owned jointly by the host's session and
// its creator, as replies may be under way when the creator disconnects.
class ReplySink {
 public:
  virtual ~ReplySink() = default;
  // All replies that one run of a shard's queue produced for this session.
  virtual void OnReplies(std::vector<ShardReply> replies) = 0;
  // Pushes with so many bytes of gradient left the queue, or found no room in
  // it. Each byte that the session submits is told once: who bounds what waits
  // may send as much again. Comes before the replies to these pushes.
  virtual void OnHandled(int64_t /*gradient_bytes*/) {}
};

// What a shard begins with.
struct ShardSeat {
  std::unique_ptr<ShardState> state;
  // Null: the shard keeps no log. Otherwise it stands where `state` does.
  std::unique_ptr<ShardLog> log;
  // As Shard::LogPosition::version_begin.
  int64_t version_begin = 0;
};
using MakeShardSeat = std::function<absl::StatusOr<ShardSeat>()>;

// A shard without chunks (state_bytes 0) is at version 0 for ever.
struct ShardProgress {
  int32_t shard = 0;
  int64_t min_version = 0;  // updates that every chunk has
  int64_t max_version = 0;  // updates that some chunk has
  int64_t state_bytes = 0;  // weights and slots
  int32_t queue_length = 0;
};

// For metrics: what a shard did and what waits for it.
struct ShardMetrics {
  int32_t shard = 0;
  ShardCounters counters;
  int64_t queue_length = 0;   // requests
  int64_t queue_bytes = 0;    // their gradients
  int64_t waiting_pulls = 0;  // pulls that wait for a version
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_HOST_TYPES_H_
