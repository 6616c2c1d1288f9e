#include "cli/run_watcher.h"

#include <optional>
#include <utility>

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

// A worker that has joined may have done its part of a step and wait for one
// that has not.
bool AllWorkersJoined(const v1::JobStatus& status) {
  for (const v1::MemberStatus& member : status.members()) {
    if (member.kind() == v1::MEMBER_KIND_WORKER && !member.joined()) {
      return false;
    }
  }
  return true;
}

// Rates of the progress are taken over so long, and over no less than this:
// workers report every 200 ms, and their reports are looked at every 100 ms.
constexpr double kRecentSeconds = 5;
constexpr double kRecentSecondsMin = 1;
// Rates of lines, which the workers measure themselves: a window of a few steps
// says more of the scheduler than of the training.
constexpr double kLineSecondsMin = 0.5;

}  // namespace

RunWatcher::RunWatcher(Options options)
    : options_(std::move(options)),
      last_checkpoint_(options_.resume_checkpoint),
      begin_{options_.start_seconds, options_.start_step, 0} {
  recent_.push_back(begin_);
}

// Joining and loading do not count: until all workers are there and have done a
// step, the training begins now.
void RunWatcher::NotePoint(const v1::JobStatus& status, double now_seconds) {
  const Point now = {now_seconds, status.step(), Samples(status)};
  const Point& last = recent_.back();
  const bool begins = now.samples == 0 || now.step <= options_.start_step ||
                      !AllWorkersJoined(status);
  // The rate of steps begins anew when the job went back.
  if (begins || now.step < last.step) {
    if (begins) {
      begin_ = now;
    }
    recent_.assign(1, now);
  } else if (now.samples > last.samples) {
    recent_.push_back(now);
  }
  while (recent_.size() > 2 &&
         recent_[1].seconds <= now_seconds - kRecentSeconds) {
    recent_.pop_front();
  }
}

TrainProgress RunWatcher::Progress(const v1::JobStatus& status) const {
  TrainProgress progress;
  progress.step = status.step();
  progress.total_steps = status.total_steps();
  for (const v1::MemberStatus& member : status.members()) {
    progress.bytes_pushed += member.totals().bytes_pushed();
    progress.bytes_pulled += member.totals().bytes_pulled();
  }
  const Point& first = recent_.front();
  const Point& last = recent_.back();
  const double seconds = last.seconds - first.seconds;
  const int64_t steps_left = status.total_steps() - status.step();
  if (seconds >= kRecentSecondsMin) {
    progress.samples_per_second = (last.samples - first.samples) / seconds;
    if (last.step > first.step && steps_left > 0) {
      progress.seconds_left = seconds / (last.step - first.step) * steps_left;
    }
  }
  if (status.metrics_size() > 0) {
    const v1::StepMetrics& newest = status.metrics(status.metrics_size() - 1);
    progress.loss = newest.loss();
    if (newest.has_accuracy()) {
      progress.accuracy = newest.accuracy();
    }
  }
  return progress;
}

double RunWatcher::LineRate(const v1::StepMetrics& metric) {
  if (metric.samples_per_second() <= 0) {
    return -1;
  }
  const auto samples = static_cast<double>(metric.samples());
  const Span line = {samples / metric.samples_per_second(), samples};
  lines_.push_back(line);
  for (Span* sum : {&recent_lines_, &all_lines_}) {
    sum->seconds += line.seconds;
    sum->samples += line.samples;
  }
  while (recent_lines_.seconds - lines_.front().seconds >= kLineSecondsMin) {
    recent_lines_.seconds -= lines_.front().seconds;
    recent_lines_.samples -= lines_.front().samples;
    lines_.pop_front();
  }
  return recent_lines_.samples / recent_lines_.seconds;
}

void RunWatcher::ShowSteps(const v1::JobStatus& status,
                           const TrainProgress& progress) {
  for (const v1::StepMetrics& metric : status.metrics()) {
    if (metric.step() < next_metric_step_) {
      continue;
    }
    next_metric_step_ = metric.step() + 1;
    TrainProgress at = progress;
    at.step = metric.step() + 1;
    at.loss = metric.loss();
    at.accuracy = metric.has_accuracy()
                      ? std::optional<double>(metric.accuracy())
                      : std::nullopt;
    const double rate = LineRate(metric);
    // A worker of another make need not measure.
    at.samples_per_second = rate > 0 ? rate : progress.samples_per_second;
    options_.view->OnStep(at);
    if (options_.on_step) {
      options_.on_step(at);
    }
  }
}

void RunWatcher::Observe(const v1::JobStatus& status, double now_seconds) {
  last_ = status;
  NotePoint(status, now_seconds);
  if (status.state() == v1::JOB_STATE_JOINING ||
      status.state() == v1::JOB_STATE_INITIALIZING) {
    return;
  }
  const TrainProgress progress = Progress(status);
  ShowSteps(status, progress);
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
  if (summary.state != v1::JOB_STATE_DONE && !summary.checkpoint.empty()) {
    summary.resume_command = options_.resume_command;
  }
  if (last_.evaluations_size() > 0) {
    summary.has_test = true;
    summary.test = last_.evaluations(last_.evaluations_size() - 1);
  }
  summary.seconds = now_seconds - options_.start_seconds;
  // Rates count the training alone: neither joining nor loading.
  const double training = recent_.back().seconds - begin_.seconds;
  if (training >= kRecentSecondsMin) {
    summary.samples_per_second = (Samples(last_) - begin_.samples) / training;
  } else if (all_lines_.seconds > 0) {
    summary.samples_per_second = all_lines_.samples / all_lines_.seconds;
  }
  for (const v1::MemberStatus& member : last_.members()) {
    if (member.kind() == v1::MEMBER_KIND_WORKER) {
      summary.workers.push_back(member);
    }
  }
  return summary;
}

}  // namespace selari
