// ProgressReporter: tells the coordinator what a worker does, from a thread of
// its own, so that no step waits for a coordinator that is slow or away.
//
//   ProgressReporter reporter(options);
//   ... the step loop calls OnStep and OnEvaluation ...
//   reporter.Finish(end);       // waits until the coordinator has the last
//                               // report, or gave up
//
// Thread safety: all methods from any thread; Finish once.

#ifndef SELARI_WORKER_PROGRESS_REPORTER_H_
#define SELARI_WORKER_PROGRESS_REPORTER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/coordinator_client.h"
#include "common/mutex.h"
#include "common/stop_token.h"
#include "selari/v1/coordinator_service.pb.h"
#include "worker/client/parameter_client.h"
#include "worker/step.h"

namespace selari {

class ProgressReporter final : public StepObserver {
 public:
  // Windows and evaluations that wait for a coordinator that is away; the
  // oldest are dropped.
  static constexpr int kWaitingMax = 1024;

  struct Options {
    CoordinatorClient* client = nullptr;  // borrowed
    const Clock* clock = nullptr;         // borrowed
    int32_t worker_id = 0;
    uint64_t incarnation = 0;
    // Of the map of the servers that it trains with.
    int64_t shard_map_version = 0;
    // As in StepLoopOptions; end_step is the job's last step plus one.
    int64_t first_step = 0;
    int64_t end_step = 0;
    int64_t stride = 1;
    // What this worker did before first_step, when the job went back: the
    // totals go on from here.
    v1::WorkerTotals before;
    // Steps of one window of metrics, >= 1.
    int64_t log_every_steps = 1;
    // Between two reports.
    int64_t interval_ms = 200;
    // Checked after each step: an error ends the step loop with it. May be
    // null.
    std::function<absl::Status()> check;
    std::function<void(absl::string_view)> log;
  };

  explicit ProgressReporter(const Options& options);
  // Reports no more; without Finish the coordinator sees a worker vanish.
  ~ProgressReporter() override;

  // For the bytes in the totals; from the step loop's thread only. Borrowed
  // while steps are done.
  void set_parameter_client(const ParameterClient* client) {
    parameter_client_ = client;
  }

  // Steps of the whole job that are done before the worker's first, where that
  // is known only now.
  void set_step(int64_t step);
  absl::Status OnStep(const StepReport& report) override;
  void OnEvaluation(int64_t step, const EvaluationResult& result) override;

  // All steps are done; the reporter goes on, as the job may go back.
  void OnFinished();

  // The last report. `error` is empty for a good end.
  struct End {
    bool finished = false;
    std::string error;
    // How long to try. > 0.
    int64_t timeout_ms = 300'000;
  };
  absl::Status Finish(const End& end);

  // Steps of the whole job that are done, as last reported, and the totals.
  int64_t step() const;
  v1::WorkerTotals totals() const;

 private:
  void Run();
  // Sends what waits. Keeps it when that fails.
  absl::StatusOr<v1::ReportProgressResponse> Send(const End* end);

  const Options options_;
  const ParameterClient* parameter_client_ = nullptr;

  mutable Mutex mu_;
  v1::ReportProgressRequest waiting_ ABSL_GUARDED_BY(mu_);
  v1::StepSums window_ ABSL_GUARDED_BY(mu_);  // open

  // One report at a time, so that none overtakes another.
  Mutex send_mu_;
  StopToken stop_;
  std::thread thread_;
};

}  // namespace selari

#endif  // SELARI_WORKER_PROGRESS_REPORTER_H_
