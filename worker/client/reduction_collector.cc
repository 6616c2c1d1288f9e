#include "worker/client/reduction_collector.h"

#include <algorithm>

#include "common/status.h"

namespace selari {

ReductionCollector::ReductionCollector(std::vector<ReductionRound> rounds,
                                       const ChunkLayout* layout,
                                       int32_t tensor_count)
    : rounds_(std::move(rounds)), layout_(layout), tensor_count_(tensor_count) {
  for (const ChunkSpec& chunk : layout->chunks()) {
    chunk_tensors_.push_back(chunk.tensor);
  }
}

absl::Status ReductionCollector::Check(
    const ReductionPartials& partials) const {
  if (partials.round < 0 ||
      partials.round >= static_cast<int64_t>(rounds_.size()) ||
      partials.chunk < 0 ||
      partials.chunk >= static_cast<int64_t>(chunk_tensors_.size()) ||
      static_cast<int64_t>(partials.sums.size()) !=
          rounds_[partials.round].sum_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "partial sums of step ", partials.step, ", round ", partials.round,
        ", chunk ", partials.chunk, " with ", partials.sums.size(),
        " values: the job has ", rounds_.size(), " rounds and ",
        chunk_tensors_.size(), " chunks"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ReductionTotals>> ReductionCollector::Add(
    const ReductionPartials& partials) {
  SELARI_RETURN_IF_ERROR(Check(partials));
  const ReductionRound& round = rounds_[partials.round];
  const std::pair<int64_t, int32_t> key(partials.step, partials.round);
  if (open_.count(key) == 0) {
    if (open_.size() >= kOpenMax) {
      if (key < open_.begin()->first) {
        return std::vector<ReductionTotals>();
      }
      open_.erase(open_.begin());
    }
    Sums& sums = open_[key];
    sums.partials.resize(chunk_tensors_.size() * round.sum_count);
    sums.there.resize(chunk_tensors_.size());
    sums.missing_count = static_cast<int64_t>(chunk_tensors_.size());
  }
  Sums& sums = open_[key];
  const int32_t shard = layout_->chunk(partials.chunk).shard;
  if (sums.missing_count == 0) {
    return std::vector<ReductionTotals>{
        {partials.step, partials.round, shard, sums.totals}};
  }
  std::vector<ReductionTotals> result;
  if (sums.there[partials.chunk]) {
    return result;
  }
  sums.there[partials.chunk] = true;
  std::copy(partials.sums.begin(), partials.sums.end(),
            sums.partials.begin() + int64_t{partials.chunk} * round.sum_count);
  if (--sums.missing_count > 0) {
    return result;
  }
  Complete(round, &sums);
  for (int32_t i = 0; i < layout_->shard_count(); ++i) {
    if (!layout_->ChunksOfShard(i).empty()) {
      result.push_back({partials.step, partials.round, i, sums.totals});
    }
  }
  return result;
}

void ReductionCollector::Complete(const ReductionRound& round,
                                  Sums* sums) const {
  sums->totals =
      CombinePartials(round, chunk_tensors_, tensor_count_, sums->partials);
  // Only the totals can be asked for again.
  sums->partials = {};
  sums->there = {};
}

}  // namespace selari
