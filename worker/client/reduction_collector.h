// ReductionCollector: adds up the partial sums that the chunks of all shards
// give for a round, so that every shard can be told the totals.
//
// Not thread-safe.

#ifndef SELARI_WORKER_CLIENT_REDUCTION_COLLECTOR_H_
#define SELARI_WORKER_CLIENT_REDUCTION_COLLECTOR_H_

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/chunk_layout.h"
#include "common/reduction_round.h"
#include "common/shard_message.h"

namespace selari {

class ReductionCollector {
 public:
  // `rounds`: those of every update of the job. `layout` must stay valid.
  ReductionCollector(std::vector<ReductionRound> rounds,
                     const ChunkLayout* layout, int32_t tensor_count);

  // Takes one chunk's part. Returns what to tell the shards: the totals for
  // every shard when this was the last part; for a chunk whose totals are
  // known, those for its shard once more (it asks again after it missed
  // them); otherwise nothing. INVALID_ARGUMENT for a round, chunk or number of
  // sums that the job does not have.
  absl::StatusOr<std::vector<ReductionTotals>> Add(
      const ReductionPartials& partials);

 private:
  struct Sums {
    std::vector<double> partials;  // (chunks, sum_count)
    std::vector<bool> there;       // (chunks)
    int64_t missing_count = 0;
    std::vector<double> totals;  // empty until complete
  };

  // Rounds that are kept: the one in progress and those that a shard may still
  // ask for. Shards of one job are at most a step apart, so the oldest is over,
  // also when its parts went to another worker while a stream was broken.
  static constexpr size_t kOpenMax = 16;

  absl::Status Check(const ReductionPartials& partials) const;
  void Complete(const ReductionRound& round, Sums* sums) const;

  const std::vector<ReductionRound> rounds_;
  const ChunkLayout* const layout_;
  const int32_t tensor_count_;
  std::vector<int32_t> chunk_tensors_;
  std::map<std::pair<int64_t, int32_t>, Sums> open_;  // by (step, round)
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_REDUCTION_COLLECTOR_H_
