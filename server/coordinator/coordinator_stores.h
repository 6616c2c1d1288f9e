// What a coordinator keeps in its output folder: its own state and the job's
// checkpoints. The same for one that listens and one in a centralised run.

#ifndef SELARI_SERVER_COORDINATOR_COORDINATOR_STORES_H_
#define SELARI_SERVER_COORDINATOR_COORDINATOR_STORES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/file_env.h"
#include "common/log_line.h"
#include "server/coordinator/checkpoint_store.h"
#include "server/coordinator/metadata_store.h"

namespace selari {

struct CoordinatorStores {
  struct Options {
    std::string output_dir;
    // Of this life of the process; keeps its attempts apart from others'.
    uint64_t incarnation = 0;
    std::string program_version;
    LogSink log;
  };

  // Opens both and keeps others out of them. ALREADY_EXISTS when another
  // coordinator uses the folder, DATA_LOSS, or an error of the disk. `env` and
  // `clock` outlive the stores.
  static absl::StatusOr<CoordinatorStores> Open(FileEnv& env,
                                                const Clock& clock,
                                                const Options& options);

  std::unique_ptr<MetadataStore> metadata;
  std::unique_ptr<CheckpointStore> checkpoints;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_COORDINATOR_STORES_H_
