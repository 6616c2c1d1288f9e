// TensorInbox: the weights of one tensor on their way in: which version is
// wanted, which chunks are still missing, and the memory they are put into.
//
// Not thread-safe, but the memory that BeginFill gives may be written without
// the caller's lock until EndFill.

#ifndef SELARI_WORKER_CLIENT_TENSOR_INBOX_H_
#define SELARI_WORKER_CLIENT_TENSOR_INBOX_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/chunk_layout.h"
#include "common/float_buffer.h"
#include "common/shard_message.h"

namespace selari {

class TensorInbox {
 public:
  // `chunks`: those of the tensor, in order of offset; must stay valid. So
  // must `source`, which makes the memory.
  TensorInbox(absl::Span<const ChunkSpec> chunks, const BufferSource* source);

  // Wants every chunk with at least `version` updates, or with exactly so many.
  // REQUIRES: !filling().
  void Request(int64_t version, bool exact = false);
  // A connection to `shards` broke that may have carried pulls: whoever was to
  // answer them could still write into the memory they named. Goes on in other
  // memory. REQUIRES: !filling().
  void Abandon(const std::vector<int32_t>& shards);
  // False before the first Request.
  bool requested() const { return requested_; }
  int64_t version() const { return version_; }
  bool exact() const { return exact_; }

  // When the value is wanted: where its weights go, to be followed by EndFill.
  // Null when it is old, was there before, or is not wanted.
  // REQUIRES: the chunk is this tensor's and the value has its size.
  float* BeginFill(const ChunkValue& value);
  void EndFill(int32_t chunk);
  // Memory is being written.
  bool filling() const { return filling_count_ > 0; }

  // Every chunk is there.
  bool complete() const { return requested_ && missing_count_ == 0; }
  // The least version among the chunks. REQUIRES: complete().
  int64_t oldest_version() const { return oldest_version_; }
  // Pulls for what is missing and not being written, of one shard or (-1) all.
  std::vector<ChunkPull> MissingPulls(int32_t shard) const;
  // The pull for one chunk if it is missing.
  bool IsMissing(int32_t chunk) const;
  ChunkPull PullOf(int32_t chunk) const;

  // The tensor; complete() says whether it is what was requested.
  absl::Span<const float> weights() const {
    return {buffer_->data(), static_cast<size_t>(buffer_->size())};
  }

 private:
  enum class State : char { kThere, kMissing, kFilling };

  State& StateOf(int32_t chunk) { return states_[chunk - chunks_[0].chunk]; }
  std::shared_ptr<FloatBuffer> NewBuffer() const;

  const absl::Span<const ChunkSpec> chunks_;
  const BufferSource* const source_;
  std::shared_ptr<FloatBuffer> buffer_;  // null before the first Request
  std::vector<State> states_;            // one for each chunk
  bool requested_ = false;
  int64_t version_ = 0;
  bool exact_ = false;
  int64_t oldest_version_ = 0;  // of those that have come
  int64_t missing_count_ = 0;   // includes those being filled
  int64_t filling_count_ = 0;
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_TENSOR_INBOX_H_
