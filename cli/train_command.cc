// `selari train`.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "cli/centralised.h"
#include "cli/cluster_job.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/prepare_run.h"
#include "cli/print_error.h"
#include "cli/run_recorder.h"
#include "cli/run_watcher.h"
#include "cli/train_view.h"
#include "common/mutex.h"
#include "common/posix_file_env.h"
#include "common/status.h"

namespace selari {
namespace {

// How often the run's status is read: fluent for the eye, nothing for a core.
constexpr int64_t kPollMs = 100;

double NowSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<TrainView> MakeView(bool json) {
  if (json) {
    return MakeJsonView(stdout);
  }
  return isatty(STDOUT_FILENO) ? MakeLiveView(stdout) : MakePlainView(stdout);
}

// Sentences from other threads, until the main thread shows them.
class NoteQueue {
 public:
  void Add(absl::string_view note) {
    MutexLock lock(&mu_);
    notes_.emplace_back(note);
  }
  void ShowOn(TrainView* view) {
    std::vector<std::string> notes;
    {
      MutexLock lock(&mu_);
      notes.swap(notes_);
    }
    for (const std::string& note : notes) {
      view->OnNote(note);
    }
  }

 private:
  Mutex mu_;
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mu_);
};

// A job of either kind.
struct StartedJob {
  std::shared_ptr<void> owner;
  CoordinatorClient* coordinator = nullptr;
  std::function<absl::Status(const StopToken*)> wait;
};

template <class Job>
StartedJob Erase(std::unique_ptr<Job> job) {
  std::shared_ptr<Job> owner = std::move(job);
  return {owner, owner->coordinator(),
          [owner](const StopToken* stop) { return owner->Wait(stop); }};
}

absl::StatusOr<std::string> ThisProgram() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  if (size <= 0 || size == sizeof(path)) {
    return absl::InternalError("cannot find this program by /proc/self/exe");
  }
  return std::string(path, static_cast<size_t>(size));
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
  return Erase(std::move(job));
}

std::string Shape(const PreparedRun& run) {
  const v1::Cluster& cluster = run.job.job().cluster();
  std::string shape = cluster.servers() == 0
                          ? std::string("centralised, 1 process")
                          : absl::StrCat(cluster.servers(), " servers, ",
                                         cluster.workers(), " workers");
  if (run.start_step > 0) {
    absl::StrAppend(&shape, ", going on from step ", run.start_step);
  }
  return shape;
}

// Follows the job until it has ended; returns how.
absl::Status Follow(const StartedJob& job, Signals* signals, NoteQueue* notes,
                    TrainView* view, RunWatcher* watcher) {
  absl::Status result;
  StopToken ended;
  std::thread waiter([&] {
    result = job.wait(signals->stop());
    ended.RequestStop();
  });
  bool told = false;
  bool last = false;
  while (!last) {
    last = ended.WaitForMs(kPollMs);
    if (signals->received() != 0 && !told) {
      told = true;
      view->OnNote(
          "stopping after this step with a checkpoint; press Ctrl-C again to "
          "end at once without one");
    }
    notes->ShowOn(view);
    const absl::StatusOr<v1::JobStatus> status =
        job.coordinator->GetJobStatus();
    if (status.ok()) {
      watcher->Observe(*status, NowSeconds());
    }
  }
  waiter.join();
  return result;
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
  SELARI_ASSIGN_OR_RETURN(const PreparedRun run, PrepareRun(env, command.job));
  view->OnStart(run.job.job().name(), Shape(run), run.output_dir);
  NoteQueue notes;
  SELARI_ASSIGN_OR_RETURN(const StartedJob job, StartJob(run, &notes));
  // The job holds the folder's lock now: before, the metrics could be those of
  // another run that is under way.
  SELARI_ASSIGN_OR_RETURN(
      std::unique_ptr<RunRecorder> recorder,
      RunRecorder::Create(env, run.output_dir, run.start_step));

  RunWatcher::Options options;
  options.view = view;
  options.on_step = [&](const TrainProgress& p) { recorder->OnStep(p); };
  options.on_evaluation = [&](const v1::Evaluation& e) {
    recorder->OnEvaluation(e);
  };
  options.output = run.output_dir;
  options.start_step = run.start_step;
  options.start_seconds = start_seconds;
  RunWatcher watcher(options);
  const absl::Status result = Follow(job, signals, &notes, view, &watcher);
  notes.ShowOn(view);
  const absl::Status recorded = recorder->Close();
  if (!recorded.ok()) {
    view->OnNote(absl::StrCat("metrics are incomplete: ", recorded.message()));
  }
  *summary = watcher.Summary(result.ok() ? "" : std::string(result.message()),
                             NowSeconds());
  SELARI_RETURN_IF_ERROR(result);
  return CheckWhoStopped(**summary, run.job.total_steps(), *signals);
}

}  // namespace

int RunTrainCommand(const TrainCommand& command, Signals* signals) {
  const std::unique_ptr<TrainView> view = MakeView(command.json);
  std::optional<TrainSummary> summary;
  const absl::Status result = Train(command, signals, view.get(), &summary);
  if (command.json && !summary.has_value()) {
    // Programs wait for it, also when the job never began.
    summary.emplace();
    summary->state = v1::JOB_STATE_FAILED;
    summary->message = std::string(result.message());
  }
  if (summary.has_value()) {
    view->OnSummary(*summary);
  }
  if (!result.ok()) {
    PrintError(result);
    return ExitCodeOf(result);
  }
  return signals->received() == 0 ? kExitOk : kExitSignal + signals->received();
}

}  // namespace selari
