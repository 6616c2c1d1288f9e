#include "server/checkpoint/publish.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/state_digest.h"

namespace selari {
namespace {

absl::Status WriteManifest(FileEnv& env, absl::string_view dir,
                           const v1::CheckpointManifest& manifest) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                          env.OpenForWrite(JoinPath(dir, kManifestFileName)));
  SELARI_RETURN_IF_ERROR(file->Append(SerializeManifest(manifest)));
  SELARI_RETURN_IF_ERROR(file->Sync());
  SELARI_RETURN_IF_ERROR(file->Close());
  return env.SyncDir(dir);
}

// Gives the finished folder its name. Between the two renames of a
// replacement neither has it; CleanUpCheckpoints then brings the old one back.
absl::Status GiveName(FileEnv& env, absl::string_view checkpoints_dir,
                      absl::string_view attempt_dir, const std::string& name) {
  const std::string final_dir = JoinPath(checkpoints_dir, name);
  const std::string old_dir = JoinPath(checkpoints_dir, ReplacedName(name));
  SELARI_ASSIGN_OR_RETURN(const bool replaces, env.Exists(final_dir));
  absl::Status status;
  if (replaces) {
    SELARI_RETURN_IF_ERROR(RemoveTree(env, old_dir));
    status = RenameDurably(env, final_dir, old_dir);
  }
  if (status.ok()) {
    status = RenameDurably(env, attempt_dir, final_dir);
  }
  if (!replaces) {
    return status;
  }
  // What fails from here on is not told: the caller hears of the first error,
  // and CleanUpCheckpoints finishes the work at the next start.
  if (status.ok()) {
    (void)RemoveTree(env, old_dir);
  } else if (!env.Exists(final_dir).value_or(true)) {
    (void)env.Rename(old_dir, final_dir);
  }
  return status;
}

}  // namespace

absl::StatusOr<std::string> BeginCheckpoint(FileEnv& env,
                                            absl::string_view checkpoints_dir,
                                            int64_t step,
                                            absl::string_view attempt) {
  const std::string dir = JoinPath(checkpoints_dir, AttemptName(step, attempt));
  SELARI_RETURN_IF_ERROR(RemoveTree(env, dir));
  SELARI_RETURN_IF_ERROR(CreateDirsDurably(env, dir));
  return dir;
}

absl::StatusOr<v1::CheckpointManifest> PublishCheckpoint(
    FileEnv& env, absl::string_view checkpoints_dir,
    absl::string_view attempt_dir, v1::CheckpointManifest manifest) {
  manifest.set_format_version(kCheckpointFormatVersion);
  manifest.clear_state_digest();
  SELARI_RETURN_IF_ERROR(CheckManifest(manifest));
  SELARI_ASSIGN_OR_RETURN(
      const std::unique_ptr<CheckpointReader> reader,
      CheckpointReader::OpenUnpublished(env, attempt_dir, manifest));
  for (int32_t shard = 0; shard < manifest.shards_size(); ++shard) {
    SELARI_RETURN_IF_ERROR(reader->VerifyFile(shard));
  }
  SELARI_ASSIGN_OR_RETURN(*manifest.mutable_state_digest(),
                          StateDigest(*reader));
  SELARI_RETURN_IF_ERROR(WriteManifest(env, attempt_dir, manifest));
  SELARI_RETURN_IF_ERROR(GiveName(env, checkpoints_dir, attempt_dir,
                                  CheckpointName(manifest.step())));
  return manifest;
}

absl::Status AbandonCheckpoint(FileEnv& env, absl::string_view attempt_dir) {
  SELARI_CHECK(IsAttemptName(BaseName(attempt_dir)));
  return RemoveTree(env, attempt_dir);
}

absl::Status CleanUpCheckpoints(FileEnv& env,
                                absl::string_view checkpoints_dir) {
  const absl::StatusOr<std::vector<DirEntry>> entries =
      env.List(checkpoints_dir);
  if (absl::IsNotFound(entries.status())) {
    return absl::OkStatus();
  }
  SELARI_RETURN_IF_ERROR(entries.status());
  for (const DirEntry& entry : *entries) {
    const std::string path = JoinPath(checkpoints_dir, entry.name);
    const std::optional<std::string> replaced = ParseReplacedName(entry.name);
    if (IsAttemptName(entry.name)) {
      // No later attempt has its name, and a server that outlived its
      // coordinator may still be writing into it: the next start tries again.
      RemoveTree(env, path).IgnoreError();
    } else if (replaced.has_value()) {
      const std::string final_dir = JoinPath(checkpoints_dir, *replaced);
      SELARI_ASSIGN_OR_RETURN(const bool finished, env.Exists(final_dir));
      SELARI_RETURN_IF_ERROR(finished ? RemoveTree(env, path)
                                      : RenameDurably(env, path, final_dir));
    }
  }
  return absl::OkStatus();
}

absl::Status RemoveOldCheckpoints(FileEnv& env,
                                  absl::string_view checkpoints_dir,
                                  int32_t keep) {
  SELARI_CHECK(keep >= 1);
  SELARI_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                          ListCheckpoints(env, checkpoints_dir));
  int32_t newer = 0;
  for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
    if (!it->status.ok() || newer++ < keep) {
      continue;
    }
    const std::string hidden =
        JoinPath(checkpoints_dir, AttemptName(it->step, "removed"));
    SELARI_RETURN_IF_ERROR(RemoveTree(env, hidden));
    SELARI_RETURN_IF_ERROR(RenameDurably(env, it->path, hidden));
    SELARI_RETURN_IF_ERROR(RemoveTree(env, hidden));
  }
  return absl::OkStatus();
}

}  // namespace selari
