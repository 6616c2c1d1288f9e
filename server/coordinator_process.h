// CoordinatorProcess: a coordinator that listens for servers and workers, in
// this process. `selari coordinator` runs it alone; `selari train` runs it
// beside its user interface and starts servers and workers as processes.
//
//   auto process = CoordinatorProcess::Start(options);
//   ... start members with process->address() ...
//   absl::Status result = process->Wait(&stop);   // until the job has ended

#ifndef SELARI_SERVER_COORDINATOR_PROCESS_H_
#define SELARI_SERVER_COORDINATOR_PROCESS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/stop_token.h"
#include "selari/v1/job.pb.h"

namespace selari {

class Coordinator;

struct CoordinatorProcessOptions {
  // host:port to listen on; port 0 lets the system choose.
  std::string listen_address = "127.0.0.1:0";
  // The job, with cluster.servers >= 1.
  v1::ResolvedJob job;
  // Folder of checkpoints and of the coordinator's own state; made if
  // missing. Servers write their files under the same path: all of them must
  // see one file system here.
  std::string output_dir;
  // Folder of the checkpoint to go on from; empty for initial values.
  std::string resume_checkpoint;
  // Written into checkpoints.
  std::string program_version;
  // How long members may take to hear that the job has ended. > 0.
  int64_t end_timeout_ms = 5'000;
  // A job may end before all of its members have joined: how long those that
  // are just starting may still come to hear of it. >= 0.
  int64_t late_member_timeout_ms = 2'000;
  // As in ServerOptions.
  std::function<void(absl::string_view)> log;
};

class CoordinatorProcess {
 public:
  // Starts to listen. FAILED_PRECONDITION when the port is in use,
  // ALREADY_EXISTS when another coordinator uses output_dir, INVALID_ARGUMENT
  // or DATA_LOSS for the checkpoint, or an error of the disk.
  static absl::StatusOr<std::unique_ptr<CoordinatorProcess>> Start(
      const CoordinatorProcessOptions& options);
  virtual ~CoordinatorProcess() = default;

  // host:port with the real port.
  virtual const std::string& address() const = 0;
  // For callers in this process; never null. See cli/local_coordinator_client.
  virtual Coordinator* coordinator() = 0;
  // Blocks until the job has ended and its members know, then stops
  // listening. `stop` (may be null) stops the job with a checkpoint. OK when
  // all steps are done or the job was stopped and saved; else why it failed.
  virtual absl::Status Wait(const StopToken* stop) = 0;
};

// Start and Wait in one.
absl::Status RunCoordinator(const CoordinatorProcessOptions& options,
                            const StopToken* stop);

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_PROCESS_H_
