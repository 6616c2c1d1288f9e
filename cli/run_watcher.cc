#include "cli/run_watcher.h"

#include <algorithm>

namespace selari {
namespace {

// Samples of all workers since they started.
int64_t Samples(const v1::JobStatus& status) {
  int64_t samples = 0;
  for (const v1::MemberStatus& member : status.members()) {
    samples += member.totals().samples();
  }
  return samples;
}

}  // namespace

TrainProgress RunWatcher::Progress(const v1::JobStatus& status,
                                   double now_seconds) {
  TrainProgress progress;
  progress.step = status.step();
  progress.total_steps = status.total_steps();
  for (const v1::MemberStatus& member : status.members()) {
    progress.bytes_pushed += member.totals().bytes_pushed();
    progress.bytes_pulled += member.totals().bytes_pulled();
  }
  if (first_step_seconds_ < 0) {
    first_step_seconds_ = now_seconds;
  }
  const double seconds = now_seconds - first_step_seconds_;
  const int64_t steps = status.step() - options_.start_step;
  if (seconds > 0) {
    progress.samples_per_second = Samples(status) / seconds;
    if (steps > 0 && status.total_steps() > 0) {
      progress.seconds_left =
          seconds / steps * (status.total_steps() - status.step());
    }
  }
  if (status.metrics_size() > 0) {
    const v1::StepMetrics& newest = status.metrics(status.metrics_size() - 1);
    progress.loss = newest.loss();
    progress.accuracy = newest.accuracy();
  }
  return progress;
}

void RunWatcher::Observe(const v1::JobStatus& status, double now_seconds) {
  last_ = status;
  if (status.state() == v1::JOB_STATE_JOINING ||
      status.state() == v1::JOB_STATE_INITIALIZING) {
    return;
  }
  TrainProgress progress = Progress(status, now_seconds);
  for (const v1::StepMetrics& metric : status.metrics()) {
    if (metric.step() < next_metric_step_) {
      continue;
    }
    next_metric_step_ = metric.step() + 1;
    TrainProgress at = progress;
    at.step = metric.step() + 1;
    at.loss = metric.loss();
    at.accuracy = metric.accuracy();
    options_.view->OnStep(at);
    if (options_.on_step) {
      options_.on_step(at);
    }
  }
  for (const v1::Evaluation& evaluation : status.evaluations()) {
    if (evaluation.step() < next_evaluation_step_) {
      continue;
    }
    next_evaluation_step_ = evaluation.step() + 1;
    options_.view->OnEvaluation(evaluation);
    if (options_.on_evaluation) {
      options_.on_evaluation(evaluation);
    }
  }
  if (status.checkpoint() != last_checkpoint_) {
    last_checkpoint_ = status.checkpoint();
    options_.view->OnCheckpoint(last_checkpoint_, status.checkpoint_step());
  }
  options_.view->OnProgress(progress);
}

TrainSummary RunWatcher::Summary(const std::string& error,
                                 double now_seconds) const {
  TrainSummary summary;
  summary.state = error.empty() ? last_.state() : v1::JOB_STATE_FAILED;
  summary.message = error.empty() ? last_.message() : error;
  // What goes on is the checkpoint; a worker's report may be a step off it.
  const bool saved_at_stop =
      summary.state == v1::JOB_STATE_STOPPED && !last_.checkpoint().empty();
  summary.steps = saved_at_stop ? last_.checkpoint_step() : last_.step();
  summary.digest = last_.checkpoint_digest();
  summary.checkpoint = last_.checkpoint();
  summary.output = options_.output;
  if (last_.evaluations_size() > 0) {
    summary.has_test = true;
    summary.test = last_.evaluations(last_.evaluations_size() - 1);
  }
  summary.seconds = now_seconds - options_.start_seconds;
  // Rates count the training alone: neither joining nor loading.
  const double training = now_seconds - first_step_seconds_;
  if (first_step_seconds_ >= 0 && training > 0) {
    summary.samples_per_second = Samples(last_) / training;
  }
  for (const v1::MemberStatus& member : last_.members()) {
    if (member.kind() == v1::MEMBER_KIND_WORKER) {
      summary.workers.push_back(member);
    }
  }
  return summary;
}

}  // namespace selari
