// Names inside a job's output folder. docs/FORMAT.md shows the tree.
//
//   OUTPUT/checkpoints/step-000000123/MANIFEST.textproto
//                                     shard-00000.safetensors ...
//   OUTPUT/checkpoints/.tmp-step-000000123-ATTEMPT/     being written
//   OUTPUT/checkpoints/.old-step-000000123/             being replaced
//
// A folder is a checkpoint when its name is step-… and its manifest is whole;
// names that start with a dot never are. Pure functions.

#ifndef SELARI_SERVER_CHECKPOINT_CHECKPOINT_PATH_H_
#define SELARI_SERVER_CHECKPOINT_CHECKPOINT_PATH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace selari {

inline constexpr absl::string_view kManifestFileName = "MANIFEST.textproto";

// The folder of all checkpoints of a job.
std::string CheckpointsDir(absl::string_view output_dir);
// The folder of its journals.
std::string JournalsDir(absl::string_view output_dir);

// "step-000000123"; more digits when needed. REQUIRES: step >= 0.
std::string CheckpointName(int64_t step);
// The step of such a name, or empty.
std::optional<int64_t> ParseCheckpointName(absl::string_view name);
// The step that the last part of a path names, or empty.
std::optional<int64_t> StepOfPath(absl::string_view path);

// Where one attempt at a checkpoint is written. `attempt` keeps two attempts
// at one step apart: characters of [A-Za-z0-9], at least one.
std::string AttemptName(int64_t step, absl::string_view attempt);
bool IsAttemptName(absl::string_view name);

// Where a published checkpoint waits while another takes its name.
std::string ReplacedName(absl::string_view checkpoint_name);
// The checkpoint's name of such a name, or empty.
std::optional<std::string> ParseReplacedName(absl::string_view name);

// "shard-00003.safetensors". REQUIRES: shard >= 0.
std::string ShardFileName(int32_t shard);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_CHECKPOINT_PATH_H_
