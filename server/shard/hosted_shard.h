// HostedShard: one shard of a ShardHost, as its own thread and all others see
// it.

#ifndef SELARI_SERVER_SHARD_HOSTED_SHARD_H_
#define SELARI_SERVER_SHARD_HOSTED_SHARD_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "server/shard/shard.h"
#include "server/shard/shard_host_types.h"
#include "server/shard/shard_log.h"

namespace selari {

class ShardRunner;

class HostedShard {
 public:
  HostedShard(int32_t shard, ShardRunner* runner)
      : shard_(shard), runner_(runner) {}

  int32_t shard() const { return shard_; }
  ShardRunner* runner() const { return runner_; }

  // The runner's thread only. Null before the first Seat.
  Shard* machine() const { return machine_.get(); }
  ShardLog* log() const { return log_.get(); }  // null without
  // `machine` writes to `log`, if it is not null.
  void Seat(std::unique_ptr<Shard> machine, std::unique_ptr<ShardLog> log);
  // Copies the machine's numbers to where other threads may read them.
  void Publish();

  // Any thread. Room in the queue for a request that holds `bytes`. Only one
  // that finds the queue empty may be larger than `bytes_max`.
  bool Reserve(int64_t bytes, int64_t bytes_max, int64_t length_max);
  void Unreserve(int64_t bytes);

  // Any thread. It has a machine.
  bool seated() const { return seated_.load(std::memory_order_acquire); }
  // Any thread; as of the last Publish.
  ShardProgress Progress() const;
  ShardMetrics Metrics() const;

 private:
  using Number = std::atomic<int64_t>;

  const int32_t shard_;
  ShardRunner* const runner_;
  std::unique_ptr<ShardLog> log_;
  std::unique_ptr<Shard> machine_;  // after its log
  std::atomic<bool> seated_{false};

  Number queue_bytes_{0};
  Number queue_length_{0};

  // Each is right by itself; together they may be a little apart.
  Number min_version_{0};
  Number max_version_{0};
  Number state_bytes_{0};
  Number waiting_pulls_{0};
  Number pushes_{0};
  Number push_bytes_{0};
  Number repeated_pushes_{0};
  Number refused_{0};
  Number pulls_{0};
  Number pull_bytes_{0};
  Number updates_{0};
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_HOSTED_SHARD_H_
