// JournaledSeats: what the shards of a server begin with when their ops go to
// journals: initial values or a checkpoint, and, when they are to come back to
// where a lost server left them, the journals after it.
//
// Thread safety: the makers may run on different threads.

#ifndef SELARI_SERVER_SHARD_CONTROL_JOURNALED_SEATS_H_
#define SELARI_SERVER_SHARD_CONTROL_JOURNALED_SEATS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/file_env.h"
#include "common/shard_snapshot.h"
#include "server/shard/shard_host_types.h"
#include "server/shard/shard_job.h"

namespace selari {

// What a recovery read.
struct JournalTotals {
  std::atomic<int64_t> ops{0};
  // Of them, those that the checkpoint did not have.
  std::atomic<int64_t> applied{0};
  std::atomic<int64_t> torn_tails{0};
};

struct JournalPlace {
  FileEnv* env = nullptr;  // borrowed, outlives the shards
  std::string directory;
  // Go on from the journals that are there. False: they are removed.
  bool recover = false;
};

// A maker for each of `shards`. `snapshots`: of just these shards, or empty for
// initial values. `totals` is added to while makers run, and outlives them.
// A maker's errors: INVALID_ARGUMENT as ShardState::FromSnapshot; DATA_LOSS
// when a journal that is to be recovered is missing, damaged, or does not go on
// from the snapshot; otherwise as the disk says. All name shard and place.
std::map<int32_t, MakeShardSeat> JournaledSeats(
    const std::shared_ptr<const ShardJob>& job,
    const std::vector<int32_t>& shards, std::vector<ShardSnapshot> snapshots,
    const JournalPlace& place, JournalTotals* totals);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CONTROL_JOURNALED_SEATS_H_
