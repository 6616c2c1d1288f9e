#include "server/shard/worker_table.h"

#include <utility>

#include "common/check.h"

namespace selari {

int64_t WorkerTable::NextSequence(const WorkerIdentity& worker) const {
  const auto found = workers_.find(worker.worker_id);
  if (found == workers_.end() ||
      found->second.incarnation != worker.incarnation) {
    return 1;
  }
  return found->second.sequence + 1;
}

int64_t WorkerTable::Clock(int32_t worker_id) const {
  const auto found = workers_.find(worker_id);
  return found == workers_.end() ? 0 : found->second.clocks.min();
}

bool WorkerTable::Record(const WorkerIdentity& worker, int64_t sequence,
                         size_t index, int64_t clock) {
  SELARI_CHECK(sequence == NextSequence(worker));
  const auto [found, inserted] = workers_.try_emplace(
      worker.worker_id,
      Worker{0, 0, MinTracker(std::vector<int64_t>(chunk_count_, 0))});
  Worker& entry = found->second;
  entry.incarnation = worker.incarnation;
  entry.sequence = sequence;
  const bool is_new = clock >= entry.clocks.value(index);
  entry.clocks.RaiseTo(index, clock + 1);
  return is_new;
}

std::vector<WorkerClock> WorkerTable::Snapshot() const {
  std::vector<WorkerClock> clocks;
  for (const auto& [worker_id, worker] : workers_) {
    WorkerClock clock;
    clock.worker_id = worker_id;
    clock.incarnation = worker.incarnation;
    clock.sequence = worker.sequence;
    clock.clock = worker.clocks.min();
    clock.chunk_clocks = worker.clocks.values();
    clocks.push_back(std::move(clock));
  }
  return clocks;
}

void WorkerTable::Restore(absl::Span<const WorkerClock> workers) {
  workers_.clear();
  for (const WorkerClock& worker : workers) {
    std::vector<int64_t> clocks = worker.chunk_clocks;
    if (clocks.empty()) {
      clocks.assign(chunk_count_, worker.clock);
    }
    SELARI_CHECK(clocks.size() == chunk_count_);
    workers_.emplace(worker.worker_id,
                     Worker{worker.incarnation, worker.sequence,
                            MinTracker(std::move(clocks))});
  }
}

}  // namespace selari
