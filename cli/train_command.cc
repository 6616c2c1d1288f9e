// `selari train`.

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/centralised.h"
#include "cli/cluster_job.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/follow_run.h"
#include "cli/prepare_run.h"
#include "cli/resume_command.h"
#include "cli/this_program.h"
#include "cli/train_view.h"
#include "common/posix_file_env.h"
#include "common/status.h"

namespace selari {
namespace {

// A job of either kind.
struct StartedJob {
  std::shared_ptr<void> owner;
  CoordinatorClient* coordinator = nullptr;
  std::function<absl::Status(const StopToken*)> wait;
  std::string address;  // of the coordinator, if others can call it
};

template <class Job>
StartedJob Erase(std::unique_ptr<Job> job) {
  std::shared_ptr<Job> owner = std::move(job);
  return {owner, owner->coordinator(),
          [owner](const StopToken* stop) { return owner->Wait(stop); }, ""};
}

int32_t WorkerThreads(const v1::Cluster& cluster) {
  if (cluster.worker_threads() > 0) {
    return cluster.worker_threads();
  }
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / std::max(1, cluster.workers()));
}

absl::StatusOr<StartedJob> StartJob(const PreparedRun& run, NoteQueue* notes) {
  const auto log = [notes](absl::string_view note) { notes->Add(note); };
  const v1::Cluster& cluster = run.job.job().cluster();
  if (cluster.servers() == 0) {
    CentralisedOptions options;
    options.job = run.job;
    options.base_dir = run.base_dir;
    options.output_dir = run.output_dir;
    options.resume_checkpoint = run.resume_checkpoint;
    options.log = log;
    SELARI_ASSIGN_OR_RETURN(auto job, CentralisedJob::Start(options));
    return Erase(std::move(job));
  }
  ClusterOptions options;
  options.job = run.job;
  options.base_dir = run.base_dir;
  options.output_dir = run.output_dir;
  options.resume_checkpoint = run.resume_checkpoint;
  SELARI_ASSIGN_OR_RETURN(options.program, ThisProgram());
  options.worker_threads = WorkerThreads(cluster);
  options.log = log;
  SELARI_ASSIGN_OR_RETURN(auto job, ClusterJob::Start(options));
  const std::string address = job->address();
  StartedJob started = Erase(std::move(job));
  started.address = address;
  return started;
}

// Whoever reads the exit code must not take a part of the steps for all.
absl::Status CheckWhoStopped(const TrainSummary& summary, int64_t total_steps,
                             const Signals& signals) {
  if (summary.state != v1::JOB_STATE_STOPPED || signals.received() != 0) {
    return absl::OkStatus();
  }
  return absl::AbortedError(absl::StrCat(
      "a member of the cluster was told to stop, so the job was stopped at "
      "step ",
      summary.steps, " of ", total_steps, "; add --resume to go on"));
}

// Fills `summary` once the job has begun.
absl::Status Train(const TrainCommand& command, Signals* signals,
                   TrainView* view, std::optional<TrainSummary>* summary) {
  const double start_seconds = NowSeconds();
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const PreparedRun prepared,
                          PrepareRun(env, command.job, DataPlace::kHere));
  NoteQueue notes;
  SELARI_ASSIGN_OR_RETURN(const StartedJob job, StartJob(prepared, &notes));
  view->OnStart(StartOf(prepared, job.address));
  StartedRun run;
  run.env = &env;
  run.prepared = &prepared;
  run.coordinator = job.coordinator;
  run.wait = job.wait;
  run.signals = signals;
  run.notes = &notes;
  run.view = view;
  run.start_seconds = start_seconds;
  run.resume_command = ResumeCommand("train", command.job, prepared.output_dir);
  SELARI_RETURN_IF_ERROR(FollowRun(run, summary));
  return CheckWhoStopped(**summary, prepared.job.total_steps(), *signals);
}

}  // namespace

int RunTrainCommand(const TrainCommand& command, Signals* signals) {
  bool done = false;
  const absl::Status result = ShowRun(
      command.json, [&](TrainView* view, std::optional<TrainSummary>* summary) {
        const absl::Status status = Train(command, signals, view, summary);
        done = summary->has_value() && (*summary)->state == v1::JOB_STATE_DONE;
        return status;
      });
  if (!result.ok()) {
    return ExitCodeOf(result);
  }
  // A wish to stop that came behind the last step changed nothing.
  return signals->received() == 0 || done ? kExitOk
                                          : kExitSignal + signals->received();
}

}  // namespace selari
