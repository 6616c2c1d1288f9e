#include "common/chunk_layout.h"

#include <algorithm>
#include <limits>

#include "common/status.h"

namespace selari {
namespace {

// First element of shard `shard` in the virtual space of `total` floats.
int64_t ShardBegin(int64_t total, int32_t shard, int32_t shard_count) {
  if (shard == shard_count) {
    return total;
  }
  // total < 2^62 and shard <= 4096 could overflow int64: use 128 bits.
  const auto exact = static_cast<__int128>(total) * shard / shard_count;
  return static_cast<int64_t>(exact) / ChunkLayout::kAlignmentFloats *
         ChunkLayout::kAlignmentFloats;
}

absl::Status CheckInput(absl::Span<const int64_t> tensor_counts,
                        const ChunkLayout::Options& options) {
  if (options.shard_count < 1 || options.shard_count > 4096) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shard_count is ", options.shard_count, ", must be in [1, 4096]"));
  }
  if (options.chunk_floats_max < ChunkLayout::kAlignmentFloats) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk_floats_max is ", options.chunk_floats_max,
                     ", must be at least ", ChunkLayout::kAlignmentFloats));
  }
  if (tensor_counts.empty()) {
    return absl::InvalidArgumentError("the model has no tensor");
  }
  int64_t total = 0;
  for (size_t i = 0; i < tensor_counts.size(); ++i) {
    constexpr int64_t kTotalMax = int64_t{1} << 46;
    if (tensor_counts[i] < 1 || tensor_counts[i] > kTotalMax - total) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", i, " has ", tensor_counts[i],
          " elements; each needs at least 1 and all together at most 2^46"));
    }
    total += tensor_counts[i];
  }
  const int64_t chunks_max = total / options.chunk_floats_max +
                             options.shard_count +
                             static_cast<int64_t>(tensor_counts.size()) * 2;
  if (chunks_max > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model would have over 2^31 chunks of ",
                     options.chunk_floats_max, " floats"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ChunkLayout> ChunkLayout::Create(
    absl::Span<const int64_t> tensor_counts, const Options& options) {
  SELARI_RETURN_IF_ERROR(CheckInput(tensor_counts, options));
  int64_t total = 0;
  for (const int64_t count : tensor_counts) {
    total += count;
  }
  ChunkLayout layout;
  int32_t shard = 0;
  layout.shards_.push_back(0);
  int64_t shard_end = ShardBegin(total, 1, options.shard_count);
  int64_t position = 0;
  for (size_t tensor = 0; tensor < tensor_counts.size(); ++tensor) {
    layout.tensors_.push_back(static_cast<int32_t>(layout.chunks_.size()));
    int64_t offset = 0;
    while (offset < tensor_counts[tensor]) {
      while (position == shard_end) {
        ++shard;
        layout.shards_.push_back(static_cast<int32_t>(layout.chunks_.size()));
        shard_end = ShardBegin(total, shard + 1, options.shard_count);
      }
      const int64_t count =
          std::min({tensor_counts[tensor] - offset, shard_end - position,
                    options.chunk_floats_max});
      layout.chunks_.push_back({static_cast<int32_t>(layout.chunks_.size()),
                                static_cast<int32_t>(tensor), shard, offset,
                                count});
      offset += count;
      position += count;
    }
  }
  const auto chunk_count = static_cast<int32_t>(layout.chunks_.size());
  layout.tensors_.push_back(chunk_count);
  layout.shards_.resize(options.shard_count + 1, chunk_count);
  layout.floats_ = total;
  return layout;
}

}  // namespace selari
