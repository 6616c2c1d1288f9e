// The files of a server's shards for one checkpoint.

#ifndef SELARI_SERVER_SHARD_CONTROL_WRITE_SHARD_FILES_H_
#define SELARI_SERVER_SHARD_CONTROL_WRITE_SHARD_FILES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_env.h"
#include "common/shard_snapshot.h"
#include "selari/v1/checkpoint.pb.h"

namespace selari {

// Writes one file for each snapshot into `dir`, and returns their entries in
// the order of the snapshots once all of them are durable. Blocks. Many files
// are written by several threads, as most of their time is waiting for the
// disk. After an error, as of WriteShardFile, no further file is begun.
[[nodiscard]] absl::StatusOr<std::vector<v1::ShardFile>> WriteShardFiles(
    FileEnv& env, absl::string_view dir, const v1::ResolvedJob& job,
    absl::Span<const ShardSnapshot> snapshots);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CONTROL_WRITE_SHARD_FILES_H_
