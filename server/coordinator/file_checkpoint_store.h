// FileCheckpointStore: checkpoints in a folder of the file system, laid out as
// server/checkpoint says.
//
// Thread safety: all methods from any thread; one process at a time uses the
// folder (the coordinator's lock on its output folder sees to that).

#ifndef SELARI_SERVER_COORDINATOR_FILE_CHECKPOINT_STORE_H_
#define SELARI_SERVER_COORDINATOR_FILE_CHECKPOINT_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/file_env.h"
#include "common/mutex.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/coordinator/checkpoint_store.h"

namespace selari {

class FileCheckpointStore final : public CheckpointStore {
 public:
  struct Options {
    // The folder of all checkpoints, see CheckpointsDir.
    std::string checkpoints_dir;
    // A random name for this life of the process, of [A-Za-z0-9], not empty:
    // a server that still writes for a coordinator that died must not write
    // into this one's attempts.
    std::string life;
    // Written into manifests.
    std::string program_version;
    // Told when old checkpoints cannot be removed, one sentence. Not null.
    std::function<void(absl::string_view)> log;
  };

  // Removes what crashed attempts left. Errors as FileEnv. `env` and `clock`
  // are borrowed.
  static absl::StatusOr<std::unique_ptr<FileCheckpointStore>> Open(
      FileEnv& env, const Clock& clock, Options options);

  std::string AttemptDirectory(int64_t step) override;
  absl::StatusOr<PublishedCheckpoint> Publish(
      absl::string_view directory, v1::CheckpointManifest manifest) override;
  void Discard(absl::string_view directory) override;

 private:
  FileCheckpointStore(FileEnv& env, const Clock& clock, Options options);

  // Constant after construction.
  FileEnv& env_;
  const Clock& clock_;
  const Options options_;

  Mutex mu_;
  int64_t attempts_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_FILE_CHECKPOINT_STORE_H_
