// RunWatcher: turns the statuses of a job, polled from its coordinator, into
// the events of a view and the records of a run. Sees every step metric and
// evaluation once, in order, however often it polls.
//
// Thread safety: one thread. The time is passed in.

#ifndef SELARI_CLI_RUN_WATCHER_H_
#define SELARI_CLI_RUN_WATCHER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "cli/train_view.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

class RunWatcher {
 public:
  struct Options {
    TrainView* view = nullptr;  // borrowed, needed
    // Called for each step metric and evaluation; may be null.
    std::function<void(const TrainProgress&)> on_step;
    std::function<void(const v1::Evaluation&)> on_evaluation;
    std::string output;  // folder, for the summary
    // The checkpoint that the run goes on from: no news. Empty: none.
    std::string resume_checkpoint;
    // The command that goes on with the run, for the summary.
    std::string resume_command;
    // The run starts here.
    int64_t start_step = 0;
    double start_seconds = 0;
  };
  explicit RunWatcher(Options options);

  // Takes a newer status; `now_seconds` never goes back.
  void Observe(const v1::JobStatus& status, double now_seconds);
  // The run has ended with the last observed status; `error` says why if the
  // status itself does not know.
  TrainSummary Summary(const std::string& error, double now_seconds) const;

 private:
  // Where the training was when it was looked at.
  struct Point {
    double seconds = 0;
    int64_t step = 0;
    int64_t samples = 0;
  };

  // What the workers measured over some lines.
  struct Span {
    double seconds = 0;
    double samples = 0;
  };

  void NotePoint(const v1::JobStatus& status, double now_seconds);
  TrainProgress Progress(const v1::JobStatus& status) const;
  void ShowSteps(const v1::JobStatus& status, const TrainProgress& progress);
  // Of the newest lines up to `metric`; negative: not known.
  double LineRate(const v1::StepMetrics& metric);

  const Options options_;
  v1::JobStatus last_;
  std::string last_checkpoint_;
  int64_t next_metric_step_ = -1;      // -1: none was seen
  int64_t next_evaluation_step_ = -1;  // -1: none was seen
  // The training began after this: no step had been done by all workers then.
  Point begin_;
  // The newest point with something new, if there is any, and what rates are
  // taken from: some seconds before it.
  std::deque<Point> recent_;
  // The newest lines, as few as rates need, their sum, and that of all lines.
  std::deque<Span> lines_;
  Span recent_lines_;
  Span all_lines_;
};

}  // namespace selari

#endif  // SELARI_CLI_RUN_WATCHER_H_
