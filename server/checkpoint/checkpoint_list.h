// Which checkpoints there are, and whether they are whole.
//
// Thread safety: functions without state.

#ifndef SELARI_SERVER_CHECKPOINT_CHECKPOINT_LIST_H_
#define SELARI_SERVER_CHECKPOINT_CHECKPOINT_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "selari/v1/checkpoint.pb.h"

namespace selari {

struct CheckpointInfo {
  // Its folder.
  std::string path;
  int64_t step = 0;
  // OK when manifest and headers of all files are there and fit; checksums
  // are not computed. Otherwise why it cannot be loaded.
  absl::Status status;
  // Of all shard files. The fields from here on are set only if status is OK.
  int64_t size_bytes = 0;
  v1::CheckpointManifest manifest;
};

// All checkpoints of a folder in ascending order of step. An empty list when
// the folder does not exist.
[[nodiscard]] absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(
    FileEnv& env, absl::string_view checkpoints_dir);

// NOT_FOUND, for a list that is empty.
[[nodiscard]] absl::Status NoCheckpointError(absl::string_view checkpoints_dir);

struct VerifyReport {
  // Sentences, each naming a file. Empty: the checkpoint is whole.
  std::vector<std::string> problems;
  // The first problem with its code, or OK.
  absl::Status status;
  int32_t file_count = 0;
  int64_t size_bytes = 0;
  // Computed from the files, empty when there are problems.
  std::string state_digest;
};

// Reads every byte of one checkpoint and tells everything that is wrong.
VerifyReport VerifyCheckpoint(FileEnv& env, absl::string_view dir);

// The checkpoint of the greatest step. NOT_FOUND when there is none. DATA_LOSS
// when VerifyCheckpoint does not find it whole, naming its step, what is wrong
// and the one before it: nobody gets older weights unawares. Other errors of
// the disk keep their code.
[[nodiscard]] absl::StatusOr<std::string> FindNewestCheckpoint(
    FileEnv& env, absl::string_view checkpoints_dir);

struct LatestCheckpoint {
  std::string path;
  int64_t step = 0;
  // One sentence for each newer one that was passed over; tell the user.
  std::vector<std::string> skipped;
};

// The newest checkpoint that VerifyCheckpoint finds whole. NOT_FOUND when
// there is none at all, DATA_LOSS, naming the newest's defect, when all are
// damaged.
[[nodiscard]] absl::StatusOr<LatestCheckpoint> FindLatestCheckpoint(
    FileEnv& env, absl::string_view checkpoints_dir);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_CHECKPOINT_LIST_H_
