// A checkpoint as the state of shards: of the job's own layout, or cut again
// for any other shard count.
//
//   SELARI_ASSIGN_OR_RETURN(auto reader, CheckpointReader::Open(env, dir));
//   for (shard hosted here)
//     SELARI_ASSIGN_OR_RETURN(ShardSnapshot snapshot,
//                             ReadShardSnapshot(*reader, layout, shard));
//
// Thread safety: as CheckpointReader.

#ifndef SELARI_SERVER_CHECKPOINT_RESTORE_H_
#define SELARI_SERVER_CHECKPOINT_RESTORE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/chunk_layout.h"
#include "common/shard_snapshot.h"
#include "selari/v1/job.pb.h"
#include "server/checkpoint/checkpoint_reader.h"

namespace selari {

// The state of one shard of `layout`, whose tensors must be the checkpoint's.
// When the checkpoint was cut the same way, this is what was written, with
// each worker's last sequence. Otherwise a chunk's version is the highest of
// the chunks it comes from, and workers keep their clocks but not their
// sequences: those counted pushes to shards that are no more, so every worker
// must come back under a new incarnation. Errors as CheckpointReader::Read.
absl::StatusOr<ShardSnapshot> ReadShardSnapshot(CheckpointReader& reader,
                                                const ChunkLayout& layout,
                                                int32_t shard);

// FAILED_PRECONDITION, naming the first difference, unless weights and slots
// of a checkpoint of `saved` fit into `job`: the same tensors and optimizer.
absl::Status CheckSameModel(const v1::ResolvedJob& saved,
                            const v1::ResolvedJob& job);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_RESTORE_H_
