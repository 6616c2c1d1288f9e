// ShardSnapshot: the whole state of one logical shard at one version, as
// references to immutable buffers. Taking one copies no tensor; a checkpoint
// writes it, a restore makes it, a replica or a move starts from it.
//
// A plain value: copy it freely (buffers are shared, not copied).

#ifndef SELARI_COMMON_SHARD_SNAPSHOT_H_
#define SELARI_COMMON_SHARD_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "common/float_buffer.h"

namespace selari {

// One chunk: a run of consecutive elements of one tensor.
struct ChunkState {
  // Number in the job's chunk layout, counted over all shards.
  int32_t chunk = 0;
  // Number of the tensor in the model's fixed order.
  int32_t tensor = 0;
  // Where the run starts in the flattened tensor, in elements, >= 0.
  int64_t offset = 0;
  // Updates applied to this chunk since initialisation, >= 0.
  int64_t version = 0;
  // (n) with n > 0. Never null in a complete snapshot.
  std::shared_ptr<const FloatBuffer> weights;
  // (slot_count, n), slot after slot: the optimizer's state. Null when the
  // optimizer keeps none.
  std::shared_ptr<const FloatBuffer> slots;
};

// What the shard has heard from one worker: enough to answer a repeated push
// with "already applied" after a restore.
struct WorkerClock {
  // The worker, from 0.
  int32_t worker_id = 0;
  // Random number of this life of the worker; 0 when unknown, as after a
  // restore onto another shard count.
  uint64_t incarnation = 0;
  // Last sequence number applied from this incarnation, 0 for none.
  int64_t sequence = 0;
  // Steps this worker has finished (BOUNDED and ASYNC), >= 0.
  int64_t clock = 0;
  // The same for each chunk of the shard, in order; `clock` is the least of
  // them. Empty when all are at `clock`.
  std::vector<int64_t> chunk_clocks = {};
};

struct ShardSnapshot {
  // Logical shard, in [0, shard_count).
  int32_t shard = 0;
  // Version of the shard: in SYNC the step whose update was applied last.
  int64_t version = 0;
  // Ascending by chunk number; every chunk of the shard exactly once.
  std::vector<ChunkState> chunks;
  // Ascending by worker_id, each id once.
  std::vector<WorkerClock> workers;
  // With a log: ops that the snapshot has for certain, from the log's first on.
  // In SYNC it may have later ones too, as it takes each chunk at `version`.
  int64_t log_sequence = 0;
};

}  // namespace selari

#endif  // SELARI_COMMON_SHARD_SNAPSHOT_H_
