// JobProgress: what the workers say they did, put together.
//
// Every worker reports the sums of its own samples for each window of
// training.log_every_steps steps; a window's metrics appear when all workers
// have reported it or are past it, and do not depend on the order of reports.
//
// Pure. Thread safety: none; the coordinator holds its lock.

#ifndef SELARI_SERVER_COORDINATOR_JOB_PROGRESS_H_
#define SELARI_SERVER_COORDINATOR_JOB_PROGRESS_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "selari/v1/coordinator_service.pb.h"

namespace selari {

class JobProgress {
 public:
  // Metrics and evaluations that are kept: the newest.
  static constexpr int kKeptMax = 256;
  // Windows that some workers have reported and others not. A worker cannot
  // be so far ahead in SYNC; in ASYNC the oldest is shown without the rest.
  static constexpr int kOpenWindowsMax = 256;

  struct WorkerProgress {
    int64_t step = 0;
    // Of all its lives; none until it has reported some.
    std::optional<v1::WorkerTotals> totals;
    bool finished = false;
  };

  // `counts_correct`: the job has right and wrong answers, so an accuracy.
  JobProgress(int32_t workers, int64_t start_step, bool counts_correct = true);

  // A worker begins, or, if its incarnation is the same, is back.
  void OnWorkerJoined(int32_t worker, uint64_t incarnation);
  // Takes a report. Repeating it changes nothing. REQUIRES: worker_id is in
  // range.
  void Report(const v1::ReportProgressRequest& report);
  // Takes only what it says of the totals. REQUIRES: as Report.
  void ReportTotals(const v1::ReportProgressRequest& report);

  // The job goes back to the weights of `step`: what was done past it does not
  // count.
  void RollBack(int64_t step);

  // The job has ended with the weights of `step`, and nothing past it counts:
  // a worker reports a step when it has sent its gradients, which the stop may
  // have refused. `all_workers_alike`: no worker was further than the weights,
  // as in SYNC.
  void EndAt(int64_t step, bool all_workers_alike);

  const WorkerProgress& worker(int32_t worker) const {
    return workers_[worker];
  }
  // Steps that every worker has done, start_step at least; of a job that has
  // ended, those that its weights have.
  int64_t step() const;
  bool all_finished() const;

  // Writes step, metrics and evaluations.
  void Describe(v1::JobStatus* status) const;
  // The same with the newest of each only.
  void DescribeNewest(v1::JobStatus* status) const;

 private:
  struct Sums {
    double loss = 0;
    int64_t correct = 0;
    int64_t samples = 0;
    double samples_per_second = 0;
  };

  // What a worker did before its incarnation, which counts from 0.
  struct Life {
    uint64_t incarnation = 0;
    v1::WorkerTotals before;
  };

  void AddWindow(int32_t worker, const v1::StepSums& sums);
  void AddEvaluation(const v1::Evaluation& evaluation);
  void CloseWindows();
  bool FirstWindowIsComplete() const;
  void CloseFirstWindow();
  // Forgets what is past the end.
  void CutOff();

  const bool counts_correct_;
  std::vector<WorkerProgress> workers_;
  std::vector<Life> lives_;
  // Set by EndAt.
  std::optional<int64_t> end_step_;
  bool all_workers_alike_ = false;
  // By last step, then by worker: added up in the order of the workers.
  std::map<int64_t, std::map<int32_t, Sums>> open_windows_;
  // Windows up to here are closed.
  int64_t closed_step_;
  std::deque<v1::StepMetrics> metrics_;
  std::deque<v1::Evaluation> evaluations_;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_JOB_PROGRESS_H_
