// ShardOp: one entry of a shard's ordered log. ShardState::Apply is a pure
// function of (state, op), so whoever holds a snapshot and the ops that follow
// it holds the shard: a journal, a replica and a move are readers of this
// stream, which Shard shows to its OpObserver before it applies each op.
//
// Plain values: copies share the gradients' memory.

#ifndef SELARI_SERVER_SHARD_SHARD_OP_H_
#define SELARI_SERVER_SHARD_SHARD_OP_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "common/shard_message.h"
#include "server/shard/reduced_gradient.h"

namespace selari {

// SYNC: all leaves of one step have come for one chunk. The chunk is at
// version `step`; it is updated now, or after the last round's TotalsOp when
// the optimizer has rounds.
struct ReducedOp {
  int32_t chunk = 0;
  int64_t step = 0;
  ReducedGradient gradient;
};

// SYNC: the totals of one round over the whole model. Every chunk of the shard
// has its ReducedOp of this step; the last round updates them all.
struct TotalsOp {
  int64_t step = 0;
  int32_t round = 0;
  std::vector<double> totals;
};

// BOUNDED, ASYNC: one worker's gradient for one chunk. Updates the chunk
// unless a former incarnation of the worker did so for this clock.
struct PushOp {
  int32_t chunk = 0;
  WorkerIdentity worker;
  int64_t sequence = 0;
  int64_t clock = 0;
  ReducedGradient gradient;
};

using ShardOp = std::variant<ReducedOp, TotalsOp, PushOp>;

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_OP_H_
