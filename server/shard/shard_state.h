// ShardState: the weights, optimizer slots, versions and clocks of one logical
// shard, and the pure function that moves them from one op to the next.
//
// A version of a chunk's weights is immutable once published: an update is
// written into another buffer of the pool. Slots are updated in place, except
// when a capture holds them: then the next update works on a copy.
//
// Not thread-safe: one thread owns it. The buffers it hands out may be read
// and released on any thread.

#ifndef SELARI_SERVER_SHARD_SHARD_STATE_H_
#define SELARI_SERVER_SHARD_SHARD_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/buffer_pool.h"
#include "common/float_buffer.h"
#include "common/shard_message.h"
#include "common/shard_snapshot.h"
#include "server/shard/min_tracker.h"
#include "server/shard/shard_job.h"
#include "server/shard/shard_op.h"
#include "server/shard/worker_table.h"

namespace selari {

// What an op changed, for whoever answers the clients.
struct ApplyEffects {
  std::vector<int32_t> updated_chunks;      // global numbers, ascending
  std::vector<ReductionPartials> partials;  // that have become known

  void Clear() {
    updated_chunks.clear();
    partials.clear();
  }
};

class ShardState {
 public:
  // Version 0. REQUIRES: 0 <= shard < job->layout.shard_count().
  static std::unique_ptr<ShardState> Initial(
      std::shared_ptr<const ShardJob> job, int32_t shard);
  // INVALID_ARGUMENT unless the snapshot is a shard of `job` with exactly the
  // chunks of its layout.
  static absl::StatusOr<std::unique_ptr<ShardState>> FromSnapshot(
      std::shared_ptr<const ShardJob> job, const ShardSnapshot& snapshot);

  ShardState(const ShardState&) = delete;
  ShardState& operator=(const ShardState&) = delete;

  // Applies `op` and appends what it changed to `effects`. Depends on nothing
  // but the state and the op. REQUIRES: the op fits the state as shard_op.h
  // says and its gradients are finite: Shard admits no others.
  void Apply(const ShardOp& op, ApplyEffects* effects);

  const ShardJob& job() const { return *job_; }
  int32_t shard() const { return shard_; }
  // The chunks of the shard, ascending global numbers; may be empty.
  absl::Span<const ChunkSpec> chunks() const {
    return job_->layout.ChunksOfShard(shard_);
  }
  // Position of a chunk within the shard. REQUIRES: it is one of chunks().
  size_t IndexOf(int32_t chunk) const { return chunk - chunks()[0].chunk; }

  // By position. The version counts updates.
  int64_t version(size_t index) const { return versions_.value(index); }
  FloatSlice weights(size_t index) const;
  // Those of the version before, which a worker that comes anew may need: with
  // workers in step no version of any shard is further apart. Empty when there
  // is none: before the first update, and in a job that could not use it.
  FloatSlice previous_weights(size_t index) const;
  bool has_previous(size_t index) const {
    return cells_[index].previous != nullptr;
  }
  // True between the chunk's ReducedOp and its update.
  bool reduced(size_t index) const { return cells_[index].reduced.has_value(); }

  // Least and greatest over the chunks, 0 without chunks.
  int64_t min_version() const { return versions_.min(); }
  int64_t max_version() const { return versions_.max(); }
  // Bytes of weights and slots.
  int64_t state_bytes() const { return state_bytes_; }
  const WorkerTable& workers() const { return workers_; }

  // The round whose totals are needed next; counts from 0 in each step.
  int32_t round() const { return static_cast<int32_t>(totals_.size()); }
  // True when every chunk has its reduced gradient, so that totals may come.
  bool AllReduced() const { return reduced_count_ == cells_.size(); }
  // The partial sums of this step's rounds and of the step before: shards of
  // one job are never further apart, so whoever hears them from all shards can
  // make the totals that any shard waits for. Empty after a restart, when all
  // shards are at one step.
  std::vector<ReductionPartials> RecentPartials() const;

  // The chunk as it is, by reference.
  ChunkState CaptureChunk(size_t index);
  // SHA-256 over all of the state that matters after a restart.
  std::string Digest() const;

 private:
  struct Cell {
    std::shared_ptr<const FloatBuffer> weights;   // published
    std::shared_ptr<const FloatBuffer> previous;  // null if there is none
    std::shared_ptr<FloatBuffer> slots;           // null without slots
    bool slots_shared = false;                    // a snapshot may hold `slots`
    BufferPool* weight_pool = nullptr;
    BufferPool* slot_pool = nullptr;
    std::optional<ReducedGradient> reduced;
    // Of this step's rounds so far and of all rounds of the step before.
    std::vector<ReductionPartials> partials;
  };

  ShardState(std::shared_ptr<const ShardJob> job, int32_t shard,
             std::vector<int64_t> versions);

  void ApplyReduced(const ReducedOp& op, ApplyEffects* effects);
  void ApplyTotals(const TotalsOp& op, ApplyEffects* effects);
  void ApplyPush(const PushOp& op, ApplyEffects* effects);
  void Update(size_t index, const ReducedGradient& gradient, int64_t step,
              ApplyEffects* effects);
  void SumRound(size_t index, ApplyEffects* effects);
  ReducedGradient Contiguous(size_t index, const ReducedGradient& gradient);
  ApplyContext ContextOf(size_t index, int64_t step);
  UpdateArrays ArraysOf(size_t index) const;
  float* Scratch(int32_t blocks);
  BufferPool* PoolFor(int64_t floats);

  // Constant after construction.
  const std::shared_ptr<const ShardJob> job_;
  const int32_t shard_;
  const bool keeps_previous_;
  int64_t state_bytes_ = 0;

  // Before cells_, whose buffers come from them. One for each size.
  std::map<int64_t, std::unique_ptr<BufferPool>> pools_;
  std::vector<Cell> cells_;
  MinTracker versions_;
  WorkerTable workers_;
  std::vector<std::vector<double>> totals_;  // of this step's rounds so far
  size_t reduced_count_ = 0;                 // cells with `reduced`

  // Not state: memory that is used again, and the last learning rate.
  std::shared_ptr<FloatBuffer> scratch_;
  std::vector<double> context_totals_;
  int64_t rate_step_ = 0;
  double rate_ = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_STATE_H_
