// What a worker says to a shard and what the shard answers, as plain values.
// The in-process transport passes them as they are; the gRPC transport turns
// them into StreamParametersRequest and -Response (proto/selari/v1), whose
// comments define each field.
//
// Tensor memory goes by reference: a FloatSlice keeps its owner alive.

#ifndef SELARI_COMMON_SHARD_MESSAGE_H_
#define SELARI_COMMON_SHARD_MESSAGE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/error_reason.h"
#include "common/float_slice.h"
#include "common/gradient_encoding.h"
#include "common/reduction_tree.h"

namespace selari {

// One life of one worker.
struct WorkerIdentity {
  int32_t worker_id = 0;
  uint64_t incarnation = 0;  // random, never 0

  friend bool operator==(const WorkerIdentity& a, const WorkerIdentity& b) {
    return a.worker_id == b.worker_id && a.incarnation == b.incarnation;
  }
};

// The gradient of one chunk.
struct ChunkPush {
  int32_t chunk = 0;
  int64_t step = 0;      // SYNC: step; BOUNDED, ASYNC: the worker's clock
  TreeNode node;         // SYNC only
  int64_t sequence = 0;  // per (worker incarnation, shard), from 1, no gaps
  // (chunk's count), or as many words as the encoding has.
  FloatSlice gradient;
  GradientEncoding encoding = GradientEncoding::kFloat32;
};

// A wish for one chunk with at least min_version updates.
struct ChunkPull {
  int32_t chunk = 0;
  int64_t min_version = 0;
  int64_t clock = 0;  // BOUNDED only
  // Where the asker will put the weights (chunk's count), or empty. Whoever
  // answers may write them there: the asker leaves it alone until then.
  absl::Span<float> into = {};
  // SYNC only: no newer version will do.
  bool exact = false;
};

// The totals of a round of sums over all shards, for one shard.
struct ReductionTotals {
  int64_t step = 0;
  int32_t round = 0;
  int32_t shard = 0;
  std::vector<double> totals;
};

using ShardRequest = std::variant<ChunkPush, ChunkPull, ReductionTotals>;

// What a request weighs in queues and windows, in bytes: 0 but for a push.
inline int64_t GradientBytes(const ShardRequest& request) {
  const auto* push = std::get_if<ChunkPush>(&request);
  return push == nullptr ? 0 : push->gradient.size_bytes();
}

// A push is applied, now or (repeated) earlier.
struct PushAck {
  int32_t chunk = 0;
  int64_t step = 0;
  int64_t sequence = 0;
  int64_t version = 0;  // updates applied to the chunk
  bool repeated = false;
  bool journaled = false;  // it is on the disk, too
};

struct ChunkValue {
  int32_t chunk = 0;
  int64_t version = 0;
  FloatSlice weights;           // immutable
  absl::Span<float> into = {};  // as in the pull
};

// A chunk's part of a round of sums over all shards.
struct ReductionPartials {
  int64_t step = 0;
  int32_t round = 0;
  int32_t chunk = 0;
  std::vector<double> sums;
};

// A refused push, pull or totals.
struct RequestError {
  int32_t chunk = 0;     // -1 for totals
  int64_t step = 0;      // of the push, or min_version of the pull
  int64_t sequence = 0;  // of the push; 0 for a pull
  absl::Status status;
  ErrorReason reason = ErrorReason::kUnspecified;
  int32_t retry_after_ms = 0;  // 0 when a retry cannot help
};

using ShardReply =
    std::variant<PushAck, ChunkValue, ReductionPartials, RequestError>;

}  // namespace selari

#endif  // SELARI_COMMON_SHARD_MESSAGE_H_
