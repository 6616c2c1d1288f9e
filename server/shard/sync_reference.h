// What SYNC training must give, as plain loops in one thread: the oracle for
// tests of the shard.

#ifndef SELARI_SERVER_SHARD_SYNC_REFERENCE_H_
#define SELARI_SERVER_SHARD_SYNC_REFERENCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/reduction_tree.h"
#include "server/shard/shard_job.h"

namespace selari {

// A made-up gradient of one leaf for one chunk, which depends on the weights
// as a real one does. Pure.
std::vector<float> LeafGradient(const ShardJob& job, int32_t chunk,
                                int64_t step, int32_t leaf,
                                const std::vector<float>& weights);

// The gradient of a tree node: left + right, down to the leaves.
std::vector<float> NodeGradient(const ShardJob& job, int32_t chunk,
                                int64_t step, TreeNode node,
                                const std::vector<float>& weights);

class SyncReference {
 public:
  explicit SyncReference(std::shared_ptr<const ShardJob> job);

  // Takes one step with all chunks.
  void Step();
  int64_t step() const { return step_; }

  // (chunks), each (count) or (slot_count, count).
  const std::vector<std::vector<float>>& weights() const { return weights_; }
  const std::vector<std::vector<float>>& slots() const { return slots_; }

 private:
  ApplyContext ContextOf(const ChunkSpec& spec,
                         const std::vector<std::vector<double>>& totals,
                         std::vector<double>* storage) const;
  UpdateArrays ArraysOf(const ChunkSpec& spec, const float* gradient);

  const std::shared_ptr<const ShardJob> job_;
  int64_t step_ = 0;
  std::vector<std::vector<float>> weights_;
  std::vector<std::vector<float>> slots_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SYNC_REFERENCE_H_
