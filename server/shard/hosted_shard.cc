#include "server/shard/hosted_shard.h"

#include <utility>

namespace selari {
namespace {

constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

}  // namespace

void HostedShard::Seat(std::unique_ptr<Shard> machine,
                       std::unique_ptr<ShardLog> log) {
  machine_ = std::move(machine);  // the old one before its log
  log_ = std::move(log);
  seated_.store(true, std::memory_order_release);
}

void HostedShard::Publish() {
  const ShardState& state = machine_->state();
  min_version_.store(state.min_version(), kRelaxed);
  max_version_.store(state.max_version(), kRelaxed);
  state_bytes_.store(state.state_bytes(), kRelaxed);
  waiting_pulls_.store(machine_->waiting_pulls(), kRelaxed);
  const ShardCounters& counters = machine_->counters();
  pushes_.store(counters.pushes, kRelaxed);
  push_bytes_.store(counters.push_bytes, kRelaxed);
  repeated_pushes_.store(counters.repeated_pushes, kRelaxed);
  refused_.store(counters.refused, kRelaxed);
  pulls_.store(counters.pulls, kRelaxed);
  pull_bytes_.store(counters.pull_bytes, kRelaxed);
  updates_.store(counters.updates, kRelaxed);
}

bool HostedShard::Reserve(int64_t bytes, int64_t bytes_max,
                          int64_t length_max) {
  const int64_t before = queue_bytes_.fetch_add(bytes, kRelaxed);
  const int64_t length = queue_length_.fetch_add(1, kRelaxed);
  if (length < length_max && (before == 0 || before + bytes <= bytes_max)) {
    return true;
  }
  Unreserve(bytes);
  return false;
}

void HostedShard::Unreserve(int64_t bytes) {
  queue_bytes_.fetch_sub(bytes, kRelaxed);
  queue_length_.fetch_sub(1, kRelaxed);
}

ShardProgress HostedShard::Progress() const {
  ShardProgress progress;
  progress.shard = shard_;
  progress.min_version = min_version_.load(kRelaxed);
  progress.max_version = max_version_.load(kRelaxed);
  progress.state_bytes = state_bytes_.load(kRelaxed);
  progress.queue_length = static_cast<int32_t>(queue_length_.load(kRelaxed));
  return progress;
}

ShardMetrics HostedShard::Metrics() const {
  ShardMetrics metrics;
  metrics.shard = shard_;
  metrics.queue_length = queue_length_.load(kRelaxed);
  metrics.queue_bytes = queue_bytes_.load(kRelaxed);
  metrics.waiting_pulls = waiting_pulls_.load(kRelaxed);
  metrics.counters.pushes = pushes_.load(kRelaxed);
  metrics.counters.push_bytes = push_bytes_.load(kRelaxed);
  metrics.counters.repeated_pushes = repeated_pushes_.load(kRelaxed);
  metrics.counters.refused = refused_.load(kRelaxed);
  metrics.counters.pulls = pulls_.load(kRelaxed);
  metrics.counters.pull_bytes = pull_bytes_.load(kRelaxed);
  metrics.counters.updates = updates_.load(kRelaxed);
  return metrics;
}

}  // namespace selari
