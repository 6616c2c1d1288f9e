// `selari coordinator`, `server` and `worker`: the members of a cluster that
// is started by hand or by a scheduler.

#include <cstdio>
#include <string>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/prepare_run.h"
#include "cli/print_error.h"
#include "common/grpc_coordinator_client.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/coordinator_process.h"
#include "server/server_process.h"
#include "worker/client/grpc_transport.h"
#include "worker/worker.h"

namespace selari {
namespace {

// 0 also when a signal asked for the end: draining is how a member ends well.
int ExitCode(const absl::Status& status) {
  if (!status.ok()) {
    PrintError(status);
    return ExitCodeOf(status);
  }
  return kExitOk;
}

absl::Status Coordinate(const CoordinatorCommand& command, Signals* signals) {
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const PreparedRun run, PrepareRun(env, command.job));
  if (run.job.job().cluster().servers() == 0) {
    return absl::InvalidArgumentError(
        "cluster.servers is 0: a coordinator needs at least one server; add "
        "--servers, or use `selari train` to train in one process");
  }
  CoordinatorProcessOptions options;
  options.listen_address = command.listen;
  options.job = run.job;
  options.output_dir = run.output_dir;
  options.resume_checkpoint = run.resume_checkpoint;
  options.log = PrintNote;
  SELARI_ASSIGN_OR_RETURN(const auto process,
                          CoordinatorProcess::Start(options));
  PrintNote(absl::StrCat("coordinator of job ", run.job.job().name(), " on ",
                         process->address(), "; output in ", run.output_dir));
  return process->Wait(signals->stop());
}

absl::Status Work(const WorkerCommand& command, Signals* signals) {
  const auto coordinator = MakeGrpcCoordinatorClient({command.coordinator});
  WorkerOptions options;
  options.coordinator = coordinator.get();
  options.coordinator_name =
      absl::StrCat("the coordinator at ", command.coordinator);
  options.make_transport = [](const v1::ResolvedJob& job,
                              const v1::ShardMap& shard_map,
                              const WorkerIdentity& worker) {
    GrpcTransportOptions transport;
    transport.give_up_ms = int64_t{1000} * job.job().cluster().join_timeout_s();
    transport.on_waiting = PrintNote;
    return MakeGrpcTransport(job, shard_map, worker, transport);
  };
  options.base_dir = command.data_folder;
  options.worker_id = command.id;
  options.threads = command.threads;
  options.stop = signals->stop();
  options.log = PrintNote;
  const absl::Status status = RunWorker(options).status();
  // Stopped before it had joined: nobody waits for it.
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

}  // namespace

int RunCoordinatorCommand(const CoordinatorCommand& command, Signals* signals) {
  return ExitCode(Coordinate(command, signals));
}

int RunServerCommand(const ServerCommand& command, Signals* signals) {
  ServerOptions options;
  options.listen_address = command.listen;
  options.advertise_address = command.advertise;
  options.coordinator_address = command.coordinator;
  options.server_id = command.id;
  options.threads = command.threads;
  options.stop = signals->stop();
  options.log = PrintNote;
  return ExitCode(RunServer(options));
}

int RunWorkerCommand(const WorkerCommand& command, Signals* signals) {
  return ExitCode(Work(command, signals));
}

}  // namespace selari
