// RunWatcher: turns the statuses of a job, polled from its coordinator, into
// the events of a view and the records of a run. Sees every step metric and
// evaluation once, in order, however often it polls.
//
// Thread safety: one thread. The time is passed in.

#ifndef SELARI_CLI_RUN_WATCHER_H_
#define SELARI_CLI_RUN_WATCHER_H_

#include <cstdint>
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
    // The run starts here: rates count from this step and time.
    int64_t start_step = 0;
    double start_seconds = 0;
  };
  explicit RunWatcher(Options options) : options_(std::move(options)) {}

  // Takes a newer status; `now_seconds` never goes back.
  void Observe(const v1::JobStatus& status, double now_seconds);
  // The run has ended with the last observed status; `error` says why if the
  // status itself does not know.
  TrainSummary Summary(const std::string& error, double now_seconds) const;

 private:
  TrainProgress Progress(const v1::JobStatus& status, double now_seconds);

  const Options options_;
  v1::JobStatus last_;
  std::string last_checkpoint_;
  int64_t next_metric_step_ = -1;      // -1: none was seen
  int64_t next_evaluation_step_ = -1;  // -1: none was seen
  double first_step_seconds_ = -1;     // when training began
};

}  // namespace selari

#endif  // SELARI_CLI_RUN_WATCHER_H_
