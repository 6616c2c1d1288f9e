#include "cli/follow_run.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/print_error.h"
#include "cli/run_recorder.h"
#include "cli/run_watcher.h"
#include "cli/stop_note.h"
#include "common/human.h"
#include "common/status.h"

namespace selari {
namespace {

// How often the run's status is read: fluent for the eye, nothing for a core.
constexpr int64_t kPollMs = 100;

std::unique_ptr<TrainView> MakeView(bool json) {
  if (json) {
    return MakeJsonView(stdout);
  }
  return isatty(STDOUT_FILENO) ? MakeLiveView(stdout) : MakePlainView(stdout);
}

// Watches the job until it has ended; returns how.
absl::Status Watch(const StartedRun& run, RunWatcher* watcher) {
  absl::Status result;
  StopToken ended;
  std::thread waiter([&] {
    result = run.wait(run.signals->stop());
    ended.RequestStop();
  });
  bool told = false;
  bool last = false;
  while (!last) {
    last = ended.WaitForMs(kPollMs);
    if (run.signals->received() != 0 && !told) {
      told = true;
      run.view->OnNote(StopNote(run.prepared->job));
    }
    run.notes->ShowOn(run.view);
    const absl::StatusOr<v1::JobStatus> status =
        run.coordinator->GetJobStatus();
    if (status.ok()) {
      watcher->Observe(*status, NowSeconds());
    }
  }
  waiter.join();
  return result;
}

}  // namespace

void NoteQueue::Add(absl::string_view note) {
  MutexLock lock(&mu_);
  notes_.emplace_back(note);
}

void NoteQueue::ShowOn(TrainView* view) {
  std::vector<std::string> notes;
  {
    MutexLock lock(&mu_);
    notes.swap(notes_);
  }
  for (const std::string& note : notes) {
    view->OnNote(note);
  }
}

double NowSeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TrainStart StartOf(const PreparedRun& run, const std::string& coordinator) {
  const v1::Cluster& cluster = run.job.job().cluster();
  std::string shape =
      cluster.servers() == 0
          ? std::string("centralised, 1 process")
          : absl::StrCat(CountOf(cluster.servers(), "server"), ", ",
                         CountOf(cluster.workers(), "worker"));
  if (run.start_step > 0) {
    absl::StrAppend(&shape, ", going on from step ", run.start_step);
  }
  return {run.job.job().name(), shape, run.output_dir, coordinator};
}

absl::Status FollowRun(const StartedRun& run,
                       std::optional<TrainSummary>* summary) {
  const PreparedRun& prepared = *run.prepared;
  // The job holds the folder's lock now: before, the metrics could be those of
  // another run that is under way.
  SELARI_ASSIGN_OR_RETURN(
      std::unique_ptr<RunRecorder> recorder,
      RunRecorder::Create(*run.env, prepared.output_dir, prepared.start_step));
  RunWatcher::Options options;
  options.view = run.view;
  options.on_step = [&](const TrainProgress& p) { recorder->OnStep(p); };
  options.on_evaluation = [&](const v1::Evaluation& e) {
    recorder->OnEvaluation(e);
  };
  options.output = prepared.output_dir;
  options.resume_checkpoint = prepared.resume_checkpoint;
  options.resume_command = run.resume_command;
  options.start_step = prepared.start_step;
  options.start_seconds = run.start_seconds;
  RunWatcher watcher(options);
  absl::Status result = Watch(run, &watcher);
  run.notes->ShowOn(run.view);
  const absl::Status recorded = recorder->Close();
  if (!recorded.ok()) {
    run.view->OnNote(
        absl::StrCat("metrics are incomplete: ", recorded.message()));
  }
  *summary = watcher.Summary(result.ok() ? "" : std::string(result.message()),
                             NowSeconds());
  return result;
}

absl::Status ShowRun(
    bool json,
    const std::function<absl::Status(
        TrainView* view, std::optional<TrainSummary>* summary)>& body) {
  const std::unique_ptr<TrainView> view = MakeView(json);
  std::optional<TrainSummary> summary;
  absl::Status result = body(view.get(), &summary);
  if (json && !summary.has_value()) {
    // The job never began.
    summary.emplace();
    summary->state = v1::JOB_STATE_FAILED;
    summary->message = std::string(result.message());
  }
  if (summary.has_value()) {
    view->OnSummary(*summary);
  }
  if (!result.ok()) {
    PrintError(result);
  }
  return result;
}

}  // namespace selari
