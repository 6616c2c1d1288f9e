// ChunkLayout: where every element of the model lives.
//
// The tensors, in the model's order, are laid end to end and cut into
// shard_count ranges of equal bytes: range i is logical shard i. A range is
// cut again at tensor boundaries and every chunk_floats_max: the pieces are
// the chunks, numbered from 0 in that order. So shards carry the same bytes
// (to within kAlignmentFloats and the last shard), a chunk belongs to one
// tensor and one shard, and the layout is a pure function of the tensors'
// sizes and the options: never of how many servers there are.
//
// Thread safety: immutable after Create.

#ifndef SELARI_COMMON_CHUNK_LAYOUT_H_
#define SELARI_COMMON_CHUNK_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace selari {

struct ChunkSpec {
  int32_t chunk = 0;   // global index
  int32_t tensor = 0;  // index in the model
  int32_t shard = 0;   // logical shard
  int64_t offset = 0;  // first element within the tensor
  int64_t count = 0;   // elements, > 0
};

class ChunkLayout {
 public:
  struct Options {
    int32_t shard_count = 16;
    // 256 KiB: small enough that one chunk is applied while the next one
    // arrives, large enough that its frame costs little.
    int64_t chunk_floats_max = 65536;
  };
  // Shards start at multiples of this, so that vector loops are not cut.
  static constexpr int64_t kAlignmentFloats = 16;

  // `tensor_counts`: elements of each tensor, > 0. INVALID_ARGUMENT for an
  // empty model, a count or option out of range, or over 2^31 - 1 chunks.
  static absl::StatusOr<ChunkLayout> Create(
      absl::Span<const int64_t> tensor_counts, const Options& options);

  int32_t shard_count() const {
    return static_cast<int32_t>(shards_.size()) - 1;
  }
  int32_t tensor_count() const {
    return static_cast<int32_t>(tensors_.size()) - 1;
  }
  // Elements of the whole model.
  int64_t floats() const { return floats_; }
  absl::Span<const ChunkSpec> chunks() const { return chunks_; }
  const ChunkSpec& chunk(int32_t chunk) const { return chunks_[chunk]; }

  // The chunks of a shard, ascending; empty when the model is too small.
  // REQUIRES: 0 <= shard < shard_count().
  absl::Span<const ChunkSpec> ChunksOfShard(int32_t shard) const {
    return Slice(shards_[shard], shards_[shard + 1]);
  }
  // The chunks of a tensor in order of offset; they cover it exactly.
  // REQUIRES: 0 <= tensor < tensor_count().
  absl::Span<const ChunkSpec> ChunksOfTensor(int32_t tensor) const {
    return Slice(tensors_[tensor], tensors_[tensor + 1]);
  }

 private:
  ChunkLayout() = default;
  absl::Span<const ChunkSpec> Slice(int32_t begin, int32_t end) const {
    return absl::MakeConstSpan(chunks_).subspan(begin, end - begin);
  }

  int64_t floats_ = 0;
  std::vector<ChunkSpec> chunks_;
  std::vector<int32_t> shards_;   // first chunk of each shard, and the end
  std::vector<int32_t> tensors_;  // first chunk of each tensor, and the end
};

}  // namespace selari

#endif  // SELARI_COMMON_CHUNK_LAYOUT_H_
