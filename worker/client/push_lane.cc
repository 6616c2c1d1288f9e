#include "worker/client/push_lane.h"

#include <algorithm>
#include <utility>

namespace selari {

std::optional<ChunkPush> PushLane::Add(ChunkPush push) {
  push.sequence = ++last_sequence_;
  unacknowledged_[push.sequence] = push;
  if (retry_at_ms_.has_value()) {
    return std::nullopt;
  }
  return push;
}

bool PushLane::Acknowledge(int64_t sequence) {
  if (unacknowledged_.erase(sequence) == 0) {
    return false;
  }
  retry_count_ = 0;
  return true;
}

void PushLane::Retry(int64_t sequence, int64_t at_ms) {
  if (unacknowledged_.count(sequence) == 0) {
    return;
  }
  if (!retry_at_ms_.has_value()) {
    ++retry_count_;
    retry_at_ms_ = at_ms;
    retry_from_ = sequence;
    return;
  }
  if (sequence < retry_from_) {
    retry_from_ = sequence;
    retry_at_ms_ = std::min(*retry_at_ms_, at_ms);
  }
}

std::vector<ChunkPush> PushLane::TakeRetries(int64_t now_ms) {
  std::vector<ChunkPush> pushes;
  if (!retry_at_ms_.has_value() || now_ms < *retry_at_ms_) {
    return pushes;
  }
  retry_at_ms_.reset();
  for (auto kept = unacknowledged_.lower_bound(retry_from_);
       kept != unacknowledged_.end(); ++kept) {
    pushes.push_back(kept->second);
  }
  return pushes;
}

std::vector<ChunkPush> PushLane::TakeAll() {
  retry_at_ms_.reset();
  std::vector<ChunkPush> pushes;
  for (const auto& kept : unacknowledged_) {
    pushes.push_back(kept.second);
  }
  return pushes;
}

}  // namespace selari
