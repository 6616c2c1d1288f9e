// SyncSimulation: all shards of a SYNC job and some workers in one thread, with
// a network that drops, repeats and reorders, everything drawn from one seed.

#ifndef SELARI_SERVER_SHARD_SYNC_SIMULATION_H_
#define SELARI_SERVER_SHARD_SYNC_SIMULATION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/shard_message.h"
#include "common/shard_snapshot.h"
#include "server/shard/shard.h"
#include "server/shard/shard_job.h"
#include "server/shard/shard_op.h"

namespace selari {

class SyncSimulation {
 public:
  struct Options {
    int32_t workers = 2;
    uint64_t seed = 1;
    // Of 100 requests, how many are lost, and how many come twice.
    uint32_t lost_percent = 10;
    uint32_t repeated_percent = 10;
    // True: workers also push leaves of others, in random covers.
    bool overlapping = true;
    // Of 1000 requests that arrive, behind how many a worker dies and another
    // life of it begins. Not with `overlapping`, by which workers run ahead.
    uint32_t death_permille = 0;
    // Step to start from when `snapshots` are given, one for each shard.
    std::vector<ShardSnapshot> snapshots;
    int64_t first_step = 0;
  };

  SyncSimulation(std::shared_ptr<const ShardJob> job, const Options& options);

  // Runs until every worker has pulled the weights of `step`.
  void RunTo(int64_t step);

  // Captures all shards at `step`, at some moment of the next RunTo.
  void CaptureAt(int64_t step) { capture_step_ = step; }
  // What was captured; empty while it is under way. By shard.
  const std::vector<ShardSnapshot>& captured() const { return captured_; }

  int64_t deaths() const { return deaths_; }
  const Shard& shard(int32_t shard) const { return *shards_[shard]; }
  // All ops of a shard so far, in order.
  const std::vector<ShardOp>& ops(int32_t shard) const { return ops_[shard]; }

 private:
  struct Worker {
    WorkerIdentity identity;
    SessionId session = 0;
    int64_t step = 0;  // that it waits for or computes
    // It does not know the step yet: it asks for what there is.
    bool finds_step = false;
    // Weights of `step`, by chunk, as they come.
    std::map<int32_t, std::vector<float>> pulled;
    // Requests without an answer: what a reconnect sends again.
    std::map<std::pair<int32_t, int64_t>, ChunkPush> pushes;  // chunk, sequence
    std::set<int32_t> pulls;                                  // chunks
    std::map<int32_t, int64_t> sequences;                     // by shard
    // Partial sums by (step, round), then by chunk.
    std::map<std::pair<int64_t, int32_t>,
             std::map<int32_t, std::vector<double>>>
        partials;
  };
  struct Letter {
    size_t worker;
    SessionId session;
    ShardRequest request;
  };

  uint32_t Random(uint32_t bound);
  void Connect(size_t index);
  void Die(size_t index);
  ChunkPull PullOf(const Worker& worker, int32_t chunk) const;
  void Send(size_t worker, ShardRequest request);
  void DeliverOne();
  void Take(size_t index, const ShardReply& reply);
  void TakePartials(size_t index, const ReductionPartials& partials);
  void Compute(size_t index);
  void Cover(TreeNode node, LeafRange leaves, std::vector<TreeNode>* cover);
  void RequestPulls(size_t index);
  void MaybeCapture();

  const std::shared_ptr<const ShardJob> job_;
  const Options options_;
  const RandomKey key_;
  uint64_t random_count_ = 0;
  int64_t last_step_ = 0;
  SessionId last_session_ = 0;
  int64_t deaths_ = 0;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::vector<ShardOp>> ops_;
  std::vector<Worker> workers_;
  std::vector<Letter> network_;
  std::optional<int64_t> capture_step_;
  std::vector<ShardSnapshot> captured_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SYNC_SIMULATION_H_
