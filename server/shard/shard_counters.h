// What a shard has done since it was made, for metrics. Plain values.

#ifndef SELARI_SERVER_SHARD_SHARD_COUNTERS_H_
#define SELARI_SERVER_SHARD_SHARD_COUNTERS_H_

#include <cstdint>

namespace selari {

struct ShardCounters {
  int64_t pushes = 0;           // pushes that came
  int64_t push_bytes = 0;       // their gradients
  int64_t repeated_pushes = 0;  // answered as applied before
  int64_t refused = 0;          // pushes, pulls and totals
  int64_t pulls = 0;            // pulls that came
  int64_t pull_bytes = 0;       // weights handed out
  int64_t updates = 0;          // new versions of a chunk
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_COUNTERS_H_
