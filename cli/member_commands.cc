// `selari coordinator`, `server` and `worker`: the members of a cluster that
// is started by hand or by a scheduler.

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/follow_run.h"
#include "cli/local_coordinator_client.h"
#include "cli/path_check.h"
#include "cli/prepare_run.h"
#include "cli/print_error.h"
#include "cli/resume_command.h"
#include "cli/train_view.h"
#include "common/grpc_coordinator_client.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/coordinator_process.h"
#include "server/rpc/listen_probe.h"
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

absl::Status Coordinate(const CoordinatorCommand& command, Signals* signals,
                        TrainView* view, std::optional<TrainSummary>* summary) {
  const double start_seconds = NowSeconds();
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(
      PreparedRun prepared,
      PrepareJob(env, command.job, DataPlace::kMaybeElsewhere));
  if (prepared.job.job().cluster().servers() == 0) {
    return absl::InvalidArgumentError(
        "cluster.servers is 0: a coordinator needs at least one server; add "
        "--servers, or use `selari train` to train in one process");
  }
  // Said before a folder is made, which would stay behind empty.
  SELARI_RETURN_IF_ERROR(ProbeListen(command.listen));
  SELARI_RETURN_IF_ERROR(PrepareOutput(env, command.job, &prepared));
  NoteQueue notes;
  CoordinatorProcessOptions options;
  options.listen_address = command.listen;
  options.job = prepared.job;
  options.output_dir = prepared.output_dir;
  options.resume_checkpoint = prepared.resume_checkpoint;
  options.log = [&notes](absl::string_view note) { notes.Add(note); };
  SELARI_ASSIGN_OR_RETURN(const auto process,
                          CoordinatorProcess::Start(options));
  view->OnStart(StartOf(prepared, process->address()));
  const std::unique_ptr<CoordinatorClient> client =
      MakeLocalCoordinatorClient(process->coordinator());
  StartedRun run;
  run.env = &env;
  run.prepared = &prepared;
  run.coordinator = client.get();
  run.wait = [&process](const StopToken* stop) { return process->Wait(stop); };
  run.signals = signals;
  run.notes = &notes;
  run.view = view;
  run.start_seconds = start_seconds;
  run.resume_command = absl::StrCat(
      ResumeCommand("coordinator", command.job, prepared.output_dir),
      " --listen ", command.listen);
  return FollowRun(run, summary);
}

absl::Status Work(const WorkerCommand& command, Signals* signals) {
  SELARI_RETURN_IF_ERROR(
      CheckFolder(absl::StrCat("--data-folder ", command.data_folder),
                  command.data_folder, "name the folder of the job's data"));
  // Absolute, so that messages name a file that can be found.
  const std::string data_folder = AbsolutePath(command.data_folder);
  const auto coordinator = MakeGrpcCoordinatorClient({command.coordinator});
  WorkerOptions options;
  options.coordinator = coordinator.get();
  options.coordinator_name =
      absl::StrCat("the coordinator at ", command.coordinator);
  // A worker reads its data before it asks for the weights.
  bool has_data = false;
  options.make_transport = [&has_data](const v1::ResolvedJob& job,
                                       const v1::ShardMap& shard_map,
                                       const WorkerIdentity& worker) {
    has_data = true;
    GrpcTransportOptions transport;
    transport.give_up_ms = int64_t{1000} * job.job().cluster().join_timeout_s();
    transport.on_waiting = PrintNote;
    return MakeGrpcTransport(job, shard_map, worker, transport);
  };
  options.base_dir = data_folder;
  options.worker_id = command.id;
  options.threads = command.threads;
  options.stop = signals->stop();
  options.log = PrintNote;
  options.log_life = true;
  const absl::Status status = RunWorker(options).status();
  if (absl::IsNotFound(status)) {
    // Later it is the coordinator that does not find something, such as the
    // lease of this worker: nothing that the user wrote.
    if (has_data) {
      return absl::AbortedError(status.message());
    }
    return absl::NotFoundError(absl::StrCat(
        status.message(), "; relative paths of the job's data start at ",
        data_folder, ": name another folder with --data-folder"));
  }
  // Stopped before it had joined: nobody waits for it.
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

}  // namespace

int RunCoordinatorCommand(const CoordinatorCommand& command, Signals* signals) {
  return ExitCodeOf(ShowRun(
      command.json, [&](TrainView* view, std::optional<TrainSummary>* summary) {
        return Coordinate(command, signals, view, summary);
      }));
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
