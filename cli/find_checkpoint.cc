#include "cli/find_checkpoint.h"

#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/path_check.h"
#include "cli/print_error.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/checkpoint_path.h"

namespace selari {
namespace {

// Also one that has lost its manifest: its name says so.
absl::StatusOr<bool> IsCheckpoint(FileEnv& env, const std::string& path) {
  SELARI_RETURN_IF_ERROR(CheckIsRunOrCheckpoint(env, path));
  if (StepOfPath(path).has_value()) {
    return true;
  }
  return env.Exists(JoinPath(path, kManifestFileName));
}

// The folder `levels` above `path`, for people.
std::string FolderAbove(const std::string& path, int levels) {
  std::filesystem::path folder =
      std::filesystem::absolute(path + "/.").lexically_normal().parent_path();
  for (int i = 0; i < levels; ++i) {
    folder = folder.parent_path();
  }
  return folder.string();
}

}  // namespace

absl::Status CheckIsNoCheckpoint(FileEnv& env, const std::string& path) {
  SELARI_ASSIGN_OR_RETURN(const bool is_checkpoint, IsCheckpoint(env, path));
  if (!is_checkpoint) {
    return absl::OkStatus();
  }
  // Unless it was copied elsewhere.
  const std::string run = FolderAbove(path, 2);
  const bool has_run = CheckpointsDir(run) == FolderAbove(path, 1);
  return absl::InvalidArgumentError(absl::StrCat(
      path, " is one checkpoint; name ",
      has_run ? absl::StrCat("the run, ", run) : "a run's output folder"));
}

absl::Status CheckIsRunOrCheckpoint(FileEnv& env, const std::string& path) {
  SELARI_RETURN_IF_ERROR(
      CheckFolder(path, path, "name a checkpoint or a run's output folder"));
  SELARI_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> inside,
                          ListCheckpoints(env, path));
  if (!inside.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is the folder of a run's checkpoints; name the run, ",
        FolderAbove(path, 1), ", or one checkpoint, ", inside.back().path));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> FindCheckpoint(FileEnv& env,
                                           const std::string& path) {
  SELARI_ASSIGN_OR_RETURN(const bool is_checkpoint, IsCheckpoint(env, path));
  return is_checkpoint ? path : FindNewestCheckpoint(env, CheckpointsDir(path));
}

absl::StatusOr<std::string> FindCheckpointToResume(FileEnv& env,
                                                   const std::string& path) {
  SELARI_ASSIGN_OR_RETURN(const bool is_checkpoint, IsCheckpoint(env, path));
  if (is_checkpoint) {
    return path;
  }
  SELARI_ASSIGN_OR_RETURN(const LatestCheckpoint latest,
                          FindLatestCheckpoint(env, CheckpointsDir(path)));
  for (const std::string& skipped : latest.skipped) {
    PrintNote(skipped);
  }
  return latest.path;
}

}  // namespace selari
