// RunWorker: the whole life of one worker.
//
//   get the job -> load the data -> register -> wait for the shard map ->
//   steps from start_step to the last -> finished.
//
// The same in a process of its own (gRPC) and inside a centralised run: what
// differs is the CoordinatorClient and the transport it is given.

#ifndef SELARI_WORKER_WORKER_H_
#define SELARI_WORKER_WORKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/coordinator_client.h"
#include "common/shard_message.h"
#include "common/stop_token.h"
#include "selari/v1/coordinator_service.pb.h"
#include "selari/v1/job.pb.h"
#include "worker/client/shard_transport.h"

namespace selari {

// Makes the way to the shards of the map; called once.
using TransportFactory =
    std::function<absl::StatusOr<std::unique_ptr<ShardTransport>>(
        const v1::ResolvedJob& job, const v1::ShardMap& shard_map,
        const WorkerIdentity& worker)>;

struct WorkerOptions {
  // Borrowed. Needed.
  CoordinatorClient* coordinator = nullptr;
  // What messages call it, e.g. "the coordinator at 10.0.0.1:7070".
  std::string coordinator_name = "the coordinator";
  // Needed.
  TransportFactory make_transport;
  // Folder of the job file: relative paths of the data start here.
  std::string base_dir;
  // In [0, cluster.workers), or -1: the coordinator chooses.
  int32_t worker_id = -1;
  // The job's id if the worker must refuse another one; empty: any job.
  std::string job_id;
  // Compute threads; 0: the job's cluster.worker_threads. Never changes a
  // result.
  int32_t threads = 0;
  // How long to try to reach a coordinator or server that does not answer
  // before giving up. > 0.
  int64_t coordinator_timeout_ms = 300'000;

  // Has the coordinator save and stop the job, as it cannot go on without this
  // worker; so the worker ends as the job does. Null: never. Borrowed.
  const StopToken* stop = nullptr;
  // Told one sentence at a time, for people. Null: standard error. Called
  // from any thread.
  std::function<void(absl::string_view)> log;
  // True also logs that it joined, what it computes and how it ended. A
  // coordinator in the same process tells that itself.
  bool log_life = false;
};

struct WorkerResult {
  int32_t worker_id = 0;
  // Steps done in the whole job, this worker's last one included.
  int64_t step = 0;
  // True when the job was stopped before its last step.
  bool stopped_early = false;
  v1::WorkerTotals totals;
};

// Blocks until the worker's part is done. Every error is also reported to the
// coordinator, which ends the job with it. Errors: those of loading the data,
// the coordinator's refusal (ALREADY_EXISTS, FAILED_PRECONDITION,
// INVALID_ARGUMENT), DEADLINE_EXCEEDED when the coordinator stays away,
// CANCELLED when `stop` came before the worker had joined, ABORTED with the
// reason when the job failed elsewhere, UNAVAILABLE when a server stays away,
// or why the job could not be stopped.
absl::StatusOr<WorkerResult> RunWorker(const WorkerOptions& options);

}  // namespace selari

#endif  // SELARI_WORKER_WORKER_H_
