// The checkpoint that a path on the command line means: itself, or the newest
// one of a run's output folder.

#ifndef SELARI_CLI_FIND_CHECKPOINT_H_
#define SELARI_CLI_FIND_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "common/file_env.h"

namespace selari {

// OK for a folder that may be a checkpoint or a run's output. NOT_FOUND when it
// does not exist, INVALID_ARGUMENT for the folder that holds a run's
// checkpoints.
absl::Status CheckIsRunOrCheckpoint(FileEnv& env, const std::string& path);

// INVALID_ARGUMENT, with the run to name instead, for a checkpoint.
absl::Status CheckIsNoCheckpoint(FileEnv& env, const std::string& path);

// Blocks: for an output folder, reads its newest checkpoint whole. NOT_FOUND
// when there is none, DATA_LOSS when the newest is damaged.
absl::StatusOr<std::string> FindCheckpoint(FileEnv& env,
                                           const std::string& path);

// The same for who can go on from an older one, too: damaged ones are passed
// over, each with a note on standard error. DATA_LOSS when all are damaged.
absl::StatusOr<std::string> FindCheckpointToResume(FileEnv& env,
                                                   const std::string& path);

}  // namespace selari

#endif  // SELARI_CLI_FIND_CHECKPOINT_H_
