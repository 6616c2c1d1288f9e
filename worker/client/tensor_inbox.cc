#include "worker/client/tensor_inbox.h"

#include "common/check.h"

namespace selari {

TensorInbox::TensorInbox(absl::Span<const ChunkSpec> chunks)
    : chunks_(chunks),
      buffer_(
          FloatBuffer::Allocate(chunks.back().offset + chunks.back().count)),
      states_(chunks.size(), State::kThere) {}

void TensorInbox::Request(int64_t version) {
  SELARI_CHECK(!filling());
  requested_ = true;
  version_ = version;
  states_.assign(chunks_.size(), State::kMissing);
  missing_count_ = static_cast<int64_t>(chunks_.size());
}

float* TensorInbox::BeginFill(const ChunkValue& value) {
  State& state = StateOf(value.chunk);
  if (state != State::kMissing || value.version < version_) {
    return nullptr;
  }
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
  // Only BOUNDED reads the clock; it is the version that the worker counts.
  return {chunk, version_, version_};
}

}  // namespace selari
