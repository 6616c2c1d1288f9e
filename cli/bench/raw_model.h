// RawModel: weights and optimizer state as one flat array, updated by the same
// optimizer as the shards': the server's side of the raw TCP yardstick.
//
// Thread safety: Apply from several threads on different elements; Reset and
// weights() while no Apply runs.

#ifndef SELARI_CLI_BENCH_RAW_MODEL_H_
#define SELARI_CLI_BENCH_RAW_MODEL_H_

#include <cstdint>
#include <memory>

#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "server/shard/shard_job.h"

namespace selari {

class RawModel {
 public:
  // Weights of zero. `job` has `floats` weights in all.
  RawModel(std::shared_ptr<const ShardJob> job, int64_t floats);

  void Reset();

  // Takes elements [first, first + n) from step - 1 to `step` with the sum of
  // the contributions, (n) each, in their order.
  // REQUIRES: at least one contribution.
  void Apply(int64_t step, int64_t first, int64_t n,
             absl::Span<const float* const> contributions);

  const float* weights() const { return weights_->data(); }

 private:
  const std::shared_ptr<const ShardJob> job_;
  std::shared_ptr<FloatBuffer> weights_;
  std::shared_ptr<FloatBuffer> slots_[kSlotCountMax];  // null: not kept
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_RAW_MODEL_H_
