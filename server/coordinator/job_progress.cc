#include "server/coordinator/job_progress.h"

#include <algorithm>

#include "common/check.h"

namespace selari {
namespace {

template <class T>
void KeepNewest(std::deque<T>* items) {
  while (items->size() > JobProgress::kKeptMax) {
    items->pop_front();
  }
}

v1::WorkerTotals Sum(const v1::WorkerTotals& a, const v1::WorkerTotals& b) {
  v1::WorkerTotals sum;
  sum.set_samples(a.samples() + b.samples());
  sum.set_compute_us(a.compute_us() + b.compute_us());
  sum.set_pull_wait_us(a.pull_wait_us() + b.pull_wait_us());
  sum.set_push_wait_us(a.push_wait_us() + b.push_wait_us());
  sum.set_bytes_pushed(a.bytes_pushed() + b.bytes_pushed());
  sum.set_bytes_pulled(a.bytes_pulled() + b.bytes_pulled());
  sum.set_bytes_shared(a.bytes_shared() + b.bytes_shared());
  return sum;
}

}  // namespace

JobProgress::JobProgress(int32_t workers, int64_t start_step,
                         bool counts_correct)
    : counts_correct_(counts_correct),
      workers_(workers),
      lives_(workers),
      closed_step_(start_step - 1) {
  SELARI_CHECK(workers >= 1);
  for (WorkerProgress& worker : workers_) {
    worker.step = start_step;
  }
}

void JobProgress::OnWorkerJoined(int32_t worker, uint64_t incarnation) {
  workers_[worker].finished = false;
  if (lives_[worker].incarnation != incarnation) {
    lives_[worker] = {incarnation,
                      workers_[worker].totals.value_or(v1::WorkerTotals())};
  }
}

void JobProgress::ReportTotals(const v1::ReportProgressRequest& report) {
  SELARI_CHECK(report.worker_id() >= 0 &&
               report.worker_id() < static_cast<int32_t>(workers_.size()));
  if (report.has_totals()) {
    workers_[report.worker_id()].totals =
        Sum(lives_[report.worker_id()].before, report.totals());
  }
}

void JobProgress::Report(const v1::ReportProgressRequest& report) {
  ReportTotals(report);
  WorkerProgress& worker = workers_[report.worker_id()];
  worker.step = std::max(worker.step, report.step());
  worker.finished = worker.finished || report.finished();
  for (const v1::StepSums& sums : report.steps()) {
    AddWindow(report.worker_id(), sums);
  }
  for (const v1::Evaluation& evaluation : report.evaluations()) {
    AddEvaluation(evaluation);
  }
  CloseWindows();
  CutOff();
}

void JobProgress::RollBack(int64_t step) {
  for (WorkerProgress& worker : workers_) {
    worker.step = step;
    worker.finished = false;
  }
  open_windows_.clear();
  closed_step_ = step - 1;
  while (!metrics_.empty() && metrics_.back().step() >= step) {
    metrics_.pop_back();
  }
  while (!evaluations_.empty() && evaluations_.back().step() > step) {
    evaluations_.pop_back();
  }
}

void JobProgress::EndAt(int64_t step, bool all_workers_alike) {
  end_step_ = step;
  all_workers_alike_ = all_workers_alike;
  CutOff();
}

void JobProgress::CutOff() {
  if (!end_step_.has_value()) {
    return;
  }
  for (WorkerProgress& worker : workers_) {
    worker.step =
        all_workers_alike_ ? std::min(worker.step, *end_step_) : worker.step;
  }
  while (!metrics_.empty() && metrics_.back().step() >= *end_step_) {
    metrics_.pop_back();
  }
}

int64_t JobProgress::step() const {
  if (end_step_.has_value()) {
    return *end_step_;
  }
  int64_t step = workers_.front().step;
  for (const WorkerProgress& worker : workers_) {
    step = std::min(step, worker.step);
  }
  return step;
}

bool JobProgress::all_finished() const {
  return std::all_of(
      workers_.begin(), workers_.end(),
      [](const WorkerProgress& worker) { return worker.finished; });
}

void JobProgress::AddWindow(int32_t worker, const v1::StepSums& sums) {
  if (sums.step() <= closed_step_) {
    return;
  }
  Sums& window = open_windows_[sums.step()][worker];
  window.loss = sums.loss_sum();
  window.correct = sums.correct_count();
  window.samples = sums.sample_count();
  window.samples_per_second =
      sums.elapsed_us() > 0 ? 1e6 * static_cast<double>(sums.sample_count()) /
                                  static_cast<double>(sums.elapsed_us())
                            : 0;
}

void JobProgress::AddEvaluation(const v1::Evaluation& evaluation) {
  for (const v1::Evaluation& known : evaluations_) {
    if (known.step() == evaluation.step()) {
      return;
    }
  }
  evaluations_.push_back(evaluation);
  KeepNewest(&evaluations_);
}

void JobProgress::CloseWindows() {
  while (!open_windows_.empty() &&
         (FirstWindowIsComplete() || open_windows_.size() > kOpenWindowsMax)) {
    CloseFirstWindow();
  }
}

// A worker reports a window before or together with the step behind it, so one
// that is past the window without a report had no samples in it.
bool JobProgress::FirstWindowIsComplete() const {
  const auto& [last_step, sums] = *open_windows_.begin();
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].step <= last_step &&
        sums.find(static_cast<int32_t>(i)) == sums.end()) {
      return false;
    }
  }
  return true;
}

void JobProgress::CloseFirstWindow() {
  const auto window = open_windows_.begin();
  Sums total;
  bool rate_is_known = true;
  for (const auto& [worker, sums] : window->second) {
    total.loss += sums.loss;
    total.correct += sums.correct;
    total.samples += sums.samples;
    total.samples_per_second += sums.samples_per_second;
    // A part of the workers would pass for all of them.
    rate_is_known &= sums.samples == 0 || sums.samples_per_second > 0;
  }
  v1::StepMetrics metrics;
  metrics.set_step(window->first);
  metrics.set_samples(total.samples);
  metrics.set_samples_per_second(rate_is_known ? total.samples_per_second : 0);
  if (total.samples > 0) {
    const double samples = static_cast<double>(total.samples);
    metrics.set_loss(total.loss / samples);
    if (counts_correct_) {
      metrics.set_accuracy(static_cast<double>(total.correct) / samples);
    }
  }
  metrics_.push_back(metrics);
  KeepNewest(&metrics_);
  closed_step_ = window->first;
  open_windows_.erase(window);
}

void JobProgress::Describe(v1::JobStatus* status) const {
  status->set_step(step());
  status->mutable_metrics()->Assign(metrics_.begin(), metrics_.end());
  status->mutable_evaluations()->Assign(evaluations_.begin(),
                                        evaluations_.end());
}

void JobProgress::DescribeNewest(v1::JobStatus* status) const {
  status->set_step(step());
  if (!metrics_.empty()) {
    *status->add_metrics() = metrics_.back();
  }
  if (!evaluations_.empty()) {
    *status->add_evaluations() = evaluations_.back();
  }
}

}  // namespace selari
