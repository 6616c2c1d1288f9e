#include "worker/client/tensor_inbox.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/check.h"

namespace selari {

TensorInbox::TensorInbox(absl::Span<const ChunkSpec> chunks,
                         const BufferSource* source)
    : chunks_(chunks), source_(source), states_(chunks.size(), State::kThere) {}

std::shared_ptr<FloatBuffer> TensorInbox::NewBuffer() const {
  return (*source_)(chunks_.back().offset + chunks_.back().count);
}

void TensorInbox::Request(int64_t version, bool exact) {
  SELARI_CHECK(!filling());
  // Pulls that are not answered yet may still be written to the old memory.
  if (buffer_ == nullptr || missing_count_ > 0) {
    buffer_ = NewBuffer();
  }
  requested_ = true;
  version_ = version;
  exact_ = exact;
  oldest_version_ = std::numeric_limits<int64_t>::max();
  states_.assign(chunks_.size(), State::kMissing);
  missing_count_ = static_cast<int64_t>(chunks_.size());
}

void TensorInbox::Abandon(const std::vector<int32_t>& shards) {
  SELARI_CHECK(!filling());
  if (std::all_of(shards.begin(), shards.end(), [this](int32_t shard) {
        return MissingPulls(shard).empty();
      })) {
    return;
  }
  const std::shared_ptr<const FloatBuffer> old = std::move(buffer_);
  buffer_ = NewBuffer();
  for (size_t i = 0; i < chunks_.size(); ++i) {
    if (states_[i] == State::kThere) {
      std::copy_n(old->data() + chunks_[i].offset, chunks_[i].count,
                  buffer_->data() + chunks_[i].offset);
    }
  }
}

float* TensorInbox::BeginFill(const ChunkValue& value) {
  State& state = StateOf(value.chunk);
  if (state != State::kMissing || value.version < version_ ||
      (exact_ && value.version > version_)) {
    return nullptr;
  }
  oldest_version_ = std::min(oldest_version_, value.version);
  const ChunkSpec& chunk = chunks_[value.chunk - chunks_[0].chunk];
  SELARI_CHECK(value.weights.size() == chunk.count);
  state = State::kFilling;
  ++filling_count_;
  return buffer_->data() + chunk.offset;
}

void TensorInbox::EndFill(int32_t chunk) {
  State& state = StateOf(chunk);
  SELARI_CHECK(state == State::kFilling);
  state = State::kThere;
  --filling_count_;
  --missing_count_;
}

std::vector<ChunkPull> TensorInbox::MissingPulls(int32_t shard) const {
  std::vector<ChunkPull> pulls;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == State::kMissing &&
        (shard < 0 || chunks_[i].shard == shard)) {
      pulls.push_back(PullOf(chunks_[i].chunk));
    }
  }
  return pulls;
}

bool TensorInbox::IsMissing(int32_t chunk) const {
  return states_[chunk - chunks_[0].chunk] == State::kMissing;
}

ChunkPull TensorInbox::PullOf(int32_t chunk) const {
  const ChunkSpec& spec = chunks_[chunk - chunks_[0].chunk];
  // Only BOUNDED reads the clock; it is the version that the worker counts.
  return {chunk, version_, version_,
          absl::MakeSpan(buffer_->data() + spec.offset,
                         static_cast<size_t>(spec.count)),
          exact_};
}

}  // namespace selari
