// The manifest of a checkpoint, between bytes and message. The file is a text
// proto of selari.v1.CheckpointManifest whose last line, a comment, holds the
// SHA-256 of all before it, so that a flipped digit is found.
//
// Thread safety: functions without state.

#ifndef SELARI_SERVER_CHECKPOINT_MANIFEST_H_
#define SELARI_SERVER_CHECKPOINT_MANIFEST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "selari/v1/checkpoint.pb.h"

namespace selari {

inline constexpr int32_t kCheckpointFormatVersion = 1;

// The file's content.
std::string SerializeManifest(const v1::CheckpointManifest& manifest);

// The reverse. DATA_LOSS for a wrong or missing checksum or a text that is no
// manifest, INVALID_ARGUMENT for one that contradicts itself, UNIMPLEMENTED
// for a format version that this program does not know.
absl::StatusOr<v1::CheckpointManifest> ParseManifest(absl::string_view text);

// INVALID_ARGUMENT, saying what, unless the manifest is complete: a job with
// possible tensors, a step >= 0, one entry for each of the job's shards in
// order with the expected file name, and well-formed checksums.
absl::Status CheckManifest(const v1::CheckpointManifest& manifest);

// Reads and checks the manifest of the checkpoint in `dir`. NOT_FOUND when
// there is none. DATA_LOSS, with the path, when `dir` is called as a checkpoint
// is but its manifest is missing or of another step, when its text is damaged,
// and when it contradicts itself; UNIMPLEMENTED as ParseManifest.
absl::StatusOr<v1::CheckpointManifest> LoadManifest(FileEnv& env,
                                                    absl::string_view dir);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_MANIFEST_H_
