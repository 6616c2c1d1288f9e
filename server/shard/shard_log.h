// ShardLog: where the ops of one shard go before anybody hears of them, so that
// the shard can be made again after its server is lost.
//
// Not thread-safe: whoever runs the shard calls it. May block on a disk.

#ifndef SELARI_SERVER_SHARD_SHARD_LOG_H_
#define SELARI_SERVER_SHARD_SHARD_LOG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "server/shard/shard_op.h"

namespace selari {

class ShardLog {
 public:
  virtual ~ShardLog() = default;

  // Number of the next op: how many there are, from the shard's first on.
  virtual int64_t next_sequence() const = 0;
  // Takes the op, which may change or go once this returns. An error may be
  // ignored: Commit returns it too.
  virtual absl::Status Append(const ShardOp& op) = 0;
  // Makes all appended ops durable. After an error nothing more is taken: every
  // later call returns it.
  [[nodiscard]] virtual absl::Status Commit() = 0;
  // Lets go of ops before `sequence`, if it can: a published checkpoint has
  // them. `version`: of the shard now, for whoever looks into the log. An error
  // that Commit does not return too means only that more is kept than needed.
  [[nodiscard]] virtual absl::Status Trim(int64_t sequence,
                                          int64_t version) = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_LOG_H_
