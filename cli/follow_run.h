// FollowRun: shows a run on a view and records it in its output folder until
// it ends. `train` and `coordinator` show the same by it.
//
//   return ShowRun(json, [&](TrainView* view, auto* summary) -> absl::Status {
//     NoteQueue notes;
//     ... start the job; its log goes to notes.Add ...
//     return FollowRun({.. view, &notes, coordinator, wait ..}, summary);
//   });

#ifndef SELARI_CLI_FOLLOW_RUN_H_
#define SELARI_CLI_FOLLOW_RUN_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "cli/prepare_run.h"
#include "cli/signals.h"
#include "cli/train_view.h"
#include "common/coordinator_client.h"
#include "common/file_env.h"
#include "common/mutex.h"
#include "common/stop_token.h"

namespace selari {

// Sentences from other threads, until the main thread shows them. Thread
// safety: all methods from any thread.
class NoteQueue {
 public:
  void Add(absl::string_view note);
  void ShowOn(TrainView* view);

 private:
  Mutex mu_;
  std::vector<std::string> notes_ ABSL_GUARDED_BY(mu_);
};

// Seconds on a clock that never goes back.
double NowSeconds();

// What the view tells of a run; its shape is like "2 servers, 1 worker, going
// on from step 300". `coordinator` is as TrainStart's.
TrainStart StartOf(const PreparedRun& run, const std::string& coordinator);

// A run that has been started and holds its output folder. All is borrowed.
struct StartedRun {
  FileEnv* env = nullptr;
  const PreparedRun* prepared = nullptr;
  CoordinatorClient* coordinator = nullptr;
  // Blocks until the job has ended; returns how. Called once, from a thread of
  // its own. A stop saves and stops the job.
  std::function<absl::Status(const StopToken* stop)> wait;
  Signals* signals = nullptr;
  NoteQueue* notes = nullptr;
  TrainView* view = nullptr;
  double start_seconds = 0;    // NowSeconds() when the command began
  std::string resume_command;  // as ResumeCommand
};

// Blocks until the run has ended. Fills `summary`; returns what `wait` did, or
// an error of the disk before anything was recorded.
absl::Status FollowRun(const StartedRun& run,
                       std::optional<TrainSummary>* summary);

// Makes the view that suits standard output, has `body` run a job on it, and
// shows the summary: with `json` always one, since programs wait for it.
// Prints an error. Returns what `body` did.
absl::Status ShowRun(
    bool json,
    const std::function<absl::Status(
        TrainView* view, std::optional<TrainSummary>* summary)>& body);

}  // namespace selari

#endif  // SELARI_CLI_FOLLOW_RUN_H_
