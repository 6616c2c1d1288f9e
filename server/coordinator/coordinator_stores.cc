#include "server/coordinator/coordinator_stores.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/coordinator/file_checkpoint_store.h"
#include "server/coordinator/file_metadata_store.h"

namespace selari {

absl::StatusOr<CoordinatorStores> CoordinatorStores::Open(
    FileEnv& env, const Clock& clock, const Options& options) {
  CoordinatorStores stores;
  // The lock on the metadata keeps other coordinators out of the checkpoints
  // as well, so it comes first.
  SELARI_ASSIGN_OR_RETURN(
      stores.metadata, FileMetadataStore::Open(
                           &env, JoinPath(options.output_dir, "coordinator")));
  FileCheckpointStore::Options checkpoints;
  checkpoints.checkpoints_dir = CheckpointsDir(options.output_dir);
  checkpoints.life = absl::StrCat(absl::Hex(options.incarnation));
  checkpoints.program_version = options.program_version;
  checkpoints.log = options.log;
  SELARI_ASSIGN_OR_RETURN(
      stores.checkpoints,
      FileCheckpointStore::Open(env, clock, std::move(checkpoints)));
  return stores;
}

}  // namespace selari
