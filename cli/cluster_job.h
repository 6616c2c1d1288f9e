// ClusterJob: a whole job on this machine as a cluster: the coordinator in
// this process, servers and workers as processes of their own that talk gRPC
// over loopback. The same calls as CentralisedJob.

#ifndef SELARI_CLI_CLUSTER_JOB_H_
#define SELARI_CLI_CLUSTER_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/subprocess.h"
#include "common/coordinator_client.h"
#include "common/stop_token.h"
#include "selari/v1/job.pb.h"
#include "server/coordinator_process.h"

namespace selari {

struct ClusterOptions {
  // With cluster.servers and cluster.workers >= 1.
  v1::ResolvedJob job;
  // Folder of the job file: relative paths of the data start here.
  std::string base_dir;
  // Folder of checkpoints and logs; exists.
  std::string output_dir;
  // Folder of the checkpoint to go on from; empty for initial values.
  std::string resume_checkpoint;
  // The binary to start servers and workers with: this one.
  std::string program;
  // Compute threads of each worker, >= 1.
  int32_t worker_threads = 1;
  // Told one sentence at a time, for people. Called from any thread.
  std::function<void(absl::string_view)> log;
};

class ClusterJob {
 public:
  // Starts the coordinator and all processes. Errors as
  // CoordinatorProcess::Start and Subprocess::Start.
  static absl::StatusOr<std::unique_ptr<ClusterJob>> Start(
      const ClusterOptions& options);
  // Kills whatever still runs.
  ~ClusterJob();

  // Never null; usable from any thread until the job is destroyed.
  CoordinatorClient* coordinator() { return client_.get(); }
  // host:port of it.
  const std::string& address() const { return process_->address(); }

  // Blocks until the job has ended and every process with it. `stop` (may be
  // null) stops it with a checkpoint. OK when all steps are done or the job
  // was stopped and saved; else why it failed, with the last lines of the
  // process that ended too early. A process that a signal ends is started
  // again, so that the job goes on.
  absl::Status Wait(const StopToken* stop);

 private:
  explicit ClusterJob(ClusterOptions options) : options_(std::move(options)) {}

  struct Child {
    v1::MemberKind kind;
    int32_t id;
    std::vector<std::string> arguments;
    std::unique_ptr<Subprocess> process;
    // Since the job last got further: how often it was started again, and the
    // step where that was.
    int restarts = 0;
    int64_t restart_step = -1;
  };

  absl::Status AddChild(v1::MemberKind kind, int32_t id,
                        std::vector<std::string> arguments);
  absl::Status StartChild(Child* child);
  // The first child that ended with an error, as a status.
  absl::Status CheckChildren();
  // Starts again what a signal ended while the job runs. Other ends as
  // CheckChildren.
  absl::Status ReviveChildren();
  absl::Status Revive(Child* child, int exit_code);
  absl::Status WaitForChildren();

  const ClusterOptions options_;
  std::unique_ptr<CoordinatorProcess> process_;
  std::unique_ptr<CoordinatorClient> client_;
  std::vector<Child> children_;
};

}  // namespace selari

#endif  // SELARI_CLI_CLUSTER_JOB_H_
