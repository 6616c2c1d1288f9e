// WorkerTable: what a shard has applied from each worker in BOUNDED and ASYNC,
// in bounded memory: enough to answer a repeat, to see a gap and to hold fast
// workers back. Part of the shard's state.
//
// An update has two names. (worker, incarnation, sequence) orders the pushes
// of one life and finds repeats on a new connection; (worker, chunk, clock)
// finds what a former life of the worker had pushed already.
//
// Not thread-safe.

#ifndef SELARI_SERVER_SHARD_WORKER_TABLE_H_
#define SELARI_SERVER_SHARD_WORKER_TABLE_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "common/shard_message.h"
#include "common/shard_snapshot.h"
#include "server/shard/min_tracker.h"

namespace selari {

class WorkerTable {
 public:
  // For a shard of `chunk_count` chunks.
  explicit WorkerTable(size_t chunk_count) : chunk_count_(chunk_count) {}

  // The sequence that must come next from this life of the worker, >= 1.
  int64_t NextSequence(const WorkerIdentity& worker) const;

  // Steps that the worker has pushed completely to this shard: the least over
  // its chunks; 0 for a worker that is not known.
  int64_t Clock(int32_t worker_id) const;

  // Notes a push of `clock` for chunk number `index` of the shard. False when
  // the worker had pushed that clock already.
  // REQUIRES: sequence == NextSequence(worker).
  bool Record(const WorkerIdentity& worker, int64_t sequence, size_t index,
              int64_t clock);

  // Ascending by worker_id.
  std::vector<WorkerClock> Snapshot() const;
  // Replaces everything. REQUIRES: as Snapshot returns; chunk_clocks empty or
  // one for each chunk.
  void Restore(absl::Span<const WorkerClock> workers);

 private:
  struct Worker {
    uint64_t incarnation;
    int64_t sequence;   // applied last
    MinTracker clocks;  // for each chunk, steps pushed
  };

  const size_t chunk_count_;
  std::map<int32_t, Worker> workers_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_WORKER_TABLE_H_
