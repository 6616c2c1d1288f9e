// How a checkpoint comes to be, and when it may be loaded.
//
//   coordinator: dir = BeginCheckpoint(env, checkpoints_dir, step, attempt)
//   each server: WriteShardFile(env, dir, job, snapshot) for each of its shards
//   coordinator: PublishCheckpoint(env, checkpoints_dir, dir, manifest)
//
// Until the last step the folder's name starts with a dot and it has no
// manifest, so whatever fails or crashes before, nothing half is loadable.
//
// Thread safety: functions without state; one process at a time begins and
// publishes in a folder.

#ifndef SELARI_SERVER_CHECKPOINT_PUBLISH_H_
#define SELARI_SERVER_CHECKPOINT_PUBLISH_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "selari/v1/checkpoint.pb.h"

namespace selari {

// Makes the folder (and those above) into which the servers write, and returns
// it. `attempt` as in AttemptName. Errors as FileEnv.
[[nodiscard]] absl::StatusOr<std::string> BeginCheckpoint(
    FileEnv& env, absl::string_view checkpoints_dir, int64_t step,
    absl::string_view attempt);

// Reads back what was written, checks it, fills in format_version and
// state_digest, writes the manifest and gives the folder its name, in one
// step, replacing an older checkpoint of that name. After OK it survives a
// crash of the machine. Returns the manifest as written; its folder is
// CheckpointName(step) in `checkpoints_dir`. After an error there is no new
// checkpoint (or, when only the last sync failed, a whole one that a crash may
// lose); AbandonCheckpoint frees the disk. INVALID_ARGUMENT when the
// manifest is incomplete, DATA_LOSS when the files do not hold what it says,
// otherwise as FileEnv.
[[nodiscard]] absl::StatusOr<v1::CheckpointManifest> PublishCheckpoint(
    FileEnv& env, absl::string_view checkpoints_dir,
    absl::string_view attempt_dir, v1::CheckpointManifest manifest);

// Removes an attempt that will not be published.
[[nodiscard]] absl::Status AbandonCheckpoint(FileEnv& env,
                                             absl::string_view attempt_dir);

// At start, before the first checkpoint: removes what crashed attempts left,
// as far as it can, and finishes or undoes a replacement that a crash cut
// short. OK when the folder does not exist.
[[nodiscard]] absl::Status CleanUpCheckpoints(
    FileEnv& env, absl::string_view checkpoints_dir);

// Removes all but the newest `keep` checkpoints, >= 1, each at once from the
// list and then from the disk. Damaged ones are neither counted nor removed:
// a person should look at them.
[[nodiscard]] absl::Status RemoveOldCheckpoints(
    FileEnv& env, absl::string_view checkpoints_dir, int32_t keep);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_PUBLISH_H_
