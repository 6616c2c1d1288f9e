// One shard's file in a checkpoint: a safetensors file with one entry for each
// chunk's weights and one for its optimizer slots, and metadata that say where
// the chunks belong. docs/FORMAT.md shows one.
//
// Thread safety: functions without state.

#ifndef SELARI_SERVER_CHECKPOINT_SHARD_FILE_H_
#define SELARI_SERVER_CHECKPOINT_SHARD_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/safetensors_header.h"
#include "common/shard_snapshot.h"
#include "selari/v1/checkpoint.pb.h"
#include "selari/v1/job.pb.h"

namespace selari {

// Writes and syncs the file of `snapshot` in `dir`, which is made if missing,
// under the name of its shard. Errors as FileEnv; what is left of the file
// then is in nobody's manifest. REQUIRES: `snapshot` is of `job`, each chunk
// has weights, and all have the same number of slots.
absl::StatusOr<v1::ShardFile> WriteShardFile(FileEnv& env,
                                             absl::string_view dir,
                                             const v1::ResolvedJob& job,
                                             const ShardSnapshot& snapshot);

// Where one chunk's values stand in a shard file.
struct ChunkRecord {
  int32_t chunk = 0;
  int32_t tensor = 0;
  int64_t offset = 0;   // first element within the tensor
  int64_t count = 0;    // elements, > 0
  int64_t version = 0;  // updates applied to it
  // First byte of the weights (count floats) in the file's data, and of the
  // slots (slot_count, count) floats when there are any.
  int64_t weights_begin = 0;
  int64_t slots_begin = 0;
};

struct ShardFileIndex {
  std::string job_id;
  int32_t shard = 0;
  int64_t version = 0;
  int32_t slot_count = 0;
  std::vector<ChunkRecord> chunks;
  std::vector<WorkerClock> workers;
};

// What the header of a shard file says. DATA_LOSS, with the reason, when it is
// the header of something else or contradicts itself. Never trusts a number;
// whether the chunks fit the job is not looked at.
absl::StatusOr<ShardFileIndex> ParseShardFileIndex(
    const SafetensorsHeader& header);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_SHARD_FILE_H_
