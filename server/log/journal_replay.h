// ReplayOp: one op of a journal onto the state it belongs to. Bytes from a disk
// are checked before ShardState::Apply, which trusts its callers.
//
// Thread safety: as ShardState.

#ifndef SELARI_SERVER_LOG_JOURNAL_REPLAY_H_
#define SELARI_SERVER_LOG_JOURNAL_REPLAY_H_

#include "absl/status/statusor.h"
#include "server/shard/shard_op.h"
#include "server/shard/shard_state.h"

namespace selari {

// Applies `op`; true when the state changed. In SYNC, where an op names its
// step, one that the state has already is passed over: a snapshot takes each
// chunk as it reaches the step of the cut, so no place in the log is its
// begin. In BOUNDED and ASYNC a snapshot is of one moment, and the ops must
// follow it exactly.
//
// DATA_LOSS, saying why, when the op does not go on from the state.
[[nodiscard]] absl::StatusOr<bool> ReplayOp(const ShardOp& op,
                                            ShardState* state);

}  // namespace selari

#endif  // SELARI_SERVER_LOG_JOURNAL_REPLAY_H_
