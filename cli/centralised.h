// CentralisedJob: a whole job in one process: coordinator, shards and one
// worker that holds every leaf, connected by plain calls. No RPC and no
// serialisation; the trained weights are those of a distributed run, bit for
// bit.
//
//   auto job = CentralisedJob::Start(options);
//   ... show (*job)->coordinator()->GetJobStatus() from another thread ...
//   absl::Status result = (*job)->Wait(&stop);

#ifndef SELARI_CLI_CENTRALISED_H_
#define SELARI_CLI_CENTRALISED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/coordinator_client.h"
#include "common/stop_token.h"
#include "selari/v1/job.pb.h"

namespace selari {

struct CentralisedOptions {
  // The job; its cluster.servers and cluster.workers are ignored.
  v1::ResolvedJob job;
  // Folder of the job file: relative paths of the data start here.
  std::string base_dir;
  // Folder of checkpoints and of the coordinator's own state.
  std::string output_dir;
  // Folder of the checkpoint to go on from; empty for initial values.
  std::string resume_checkpoint;
  // Written into checkpoints.
  std::string program_version;
  // As in ServerOptions.
  std::function<void(absl::string_view)> log;
};

class CentralisedJob {
 public:
  // Starts training in the background. Errors as CoordinatorProcess::Start.
  static absl::StatusOr<std::unique_ptr<CentralisedJob>> Start(
      const CentralisedOptions& options);
  // REQUIRES: Wait has returned.
  virtual ~CentralisedJob() = default;

  // Never null; usable from any thread until the job is destroyed.
  virtual CoordinatorClient* coordinator() = 0;
  // Blocks until the job has ended. `stop` (may be null) stops it with a
  // checkpoint. OK when all steps are done or the job was stopped and saved;
  // else why it failed.
  virtual absl::Status Wait(const StopToken* stop) = 0;
};

}  // namespace selari

#endif  // SELARI_CLI_CENTRALISED_H_
