#include "server/coordinator/file_checkpoint_store.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/file_env.h"
#include "common/mutex.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/checkpoint/publish.h"
#include "server/coordinator/checkpoint_store.h"

namespace selari {

FileCheckpointStore::FileCheckpointStore(FileEnv& env, const Clock& clock,
                                         Options options)
    : env_(env), clock_(clock), options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<FileCheckpointStore>> FileCheckpointStore::Open(
    FileEnv& env, const Clock& clock, Options options) {
  SELARI_RETURN_IF_ERROR(CleanUpCheckpoints(env, options.checkpoints_dir));
  return absl::WrapUnique(
      new FileCheckpointStore(env, clock, std::move(options)));
}

std::string FileCheckpointStore::AttemptDirectory(int64_t step) {
  MutexLock lock(&mu_);
  return JoinPath(
      options_.checkpoints_dir,
      AttemptName(step, absl::StrCat(options_.life, "n", ++attempts_)));
}

absl::StatusOr<PublishedCheckpoint> FileCheckpointStore::Publish(
    absl::string_view directory, v1::CheckpointManifest manifest) {
  manifest.set_publish_time_ms(clock_.WallTimeMs());
  manifest.set_program_version(options_.program_version);
  SELARI_ASSIGN_OR_RETURN(
      manifest, PublishCheckpoint(env_, options_.checkpoints_dir, directory,
                                  std::move(manifest)));
  // At least 1, so that the one just published stays.
  const int32_t keep = std::max(1, manifest.job().job().checkpointing().keep());
  const absl::Status removed =
      RemoveOldCheckpoints(env_, options_.checkpoints_dir, keep);
  if (!removed.ok()) {
    options_.log(
        absl::StrCat("an old checkpoint could not be removed and stays: ",
                     removed.message()));
  }
  return PublishedCheckpoint{
      JoinPath(options_.checkpoints_dir, CheckpointName(manifest.step())),
      manifest.step(), manifest.state_digest()};
}

void FileCheckpointStore::Discard(absl::string_view directory) {
  (void)AbandonCheckpoint(env_, directory);
}

}  // namespace selari
