#include "server/shard/capture_list.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace selari {

void CaptureList::Clear() {
  for (Capture& capture : captures_) {
    capture.done(absl::CancelledError(
        absl::StrCat("shard ", capture.snapshot.shard,
                     " was closed before it reached step ", capture.step)));
  }
  captures_.clear();
}

void CaptureList::Add(int64_t step, ShardState* state, int64_t log_sequence,
                      ShardCaptureCallback done) {
  const size_t chunk_count = state->chunks().size();
  if (step >= 0 && state->max_version() > step) {
    done(absl::FailedPreconditionError(
        absl::StrCat("shard ", state->shard(), " is at step ",
                     state->max_version(), ", past step ", step)));
    return;
  }
  Capture capture{step, {}, chunk_count, std::move(done)};
  capture.snapshot.shard = state->shard();
  capture.snapshot.version = step < 0 ? state->min_version() : step;
  capture.snapshot.chunks.resize(chunk_count);
  capture.snapshot.log_sequence = log_sequence;
  for (size_t i = 0; i < chunk_count; ++i) {
    if (step < 0 || state->version(i) == step) {
      capture.snapshot.chunks[i] = state->CaptureChunk(i);
      --capture.missing;
    }
  }
  if (capture.missing == 0) {
    Finish(&capture, *state);
  } else {
    captures_.push_back(std::move(capture));
  }
}

void CaptureList::OnUpdate(size_t index, ShardState* state,
                           int64_t log_sequence) {
  for (auto it = captures_.begin(); it != captures_.end();) {
    if (state->version(index) == it->step) {
      if (it->missing == it->snapshot.chunks.size()) {
        it->snapshot.log_sequence = log_sequence;
      }
      it->snapshot.chunks[index] = state->CaptureChunk(index);
      if (--it->missing == 0) {
        Finish(&*it, *state);
        it = captures_.erase(it);
        continue;
      }
    }
    ++it;
  }
}

void CaptureList::Finish(Capture* capture, const ShardState& state) {
  capture->snapshot.workers = state.workers().Snapshot();
  capture->done(std::move(capture->snapshot));
}

}  // namespace selari
