#include "worker/progress_reporter.h"

#include <algorithm>
#include <utility>

#include "common/printable.h"
#include "common/retry.h"

namespace selari {
namespace {

template <class T>
void DropOldest(int count_max, T* items) {
  if (items->size() > count_max) {
    items->DeleteSubrange(0, items->size() - count_max);
  }
}

v1::Evaluation ToProto(int64_t step, const EvaluationResult& result) {
  v1::Evaluation evaluation;
  evaluation.set_step(step);
  evaluation.set_loss(result.loss);
  if (result.accuracy.has_value()) {
    evaluation.set_accuracy(*result.accuracy);
  }
  evaluation.set_auc(result.auc.value_or(0.0));
  evaluation.set_samples(result.sample_count);
  return evaluation;
}

}  // namespace

ProgressReporter::ProgressReporter(const Options& options) : options_(options) {
  waiting_.set_worker_id(options.worker_id);
  waiting_.set_incarnation(options.incarnation);
  waiting_.set_shard_map_version(options.shard_map_version);
  waiting_.set_step(options.first_step / options.stride * options.stride);
  *waiting_.mutable_totals() = options.before;
  thread_ = std::thread([this] { Run(); });
}

ProgressReporter::~ProgressReporter() {
  stop_.RequestStop();
  thread_.join();
}

void ProgressReporter::set_step(int64_t step) {
  MutexLock lock(&mu_);
  waiting_.set_step(step);
}

absl::Status ProgressReporter::OnStep(const StepReport& report) {
  const int64_t next_step = report.step + options_.stride;
  const int64_t window = report.step / options_.log_every_steps;
  {
    MutexLock lock(&mu_);
    window_.set_loss_sum(window_.loss_sum() + report.loss_sum);
    window_.set_correct_count(window_.correct_count() + report.correct_count);
    window_.set_sample_count(window_.sample_count() + report.sample_count);
    window_.set_elapsed_us(window_.elapsed_us() + report.elapsed_us);
    if (next_step >= options_.end_step ||
        next_step / options_.log_every_steps != window) {
      window_.set_step(
          std::min((window + 1) * options_.log_every_steps, options_.end_step) -
          1);
      waiting_.add_steps()->Swap(&window_);
      window_.Clear();
      DropOldest(kWaitingMax, waiting_.mutable_steps());
    }
    // Of the whole job, as if every worker were as far as this one.
    waiting_.set_step(
        std::min((report.step / options_.stride + 1) * options_.stride,
                 options_.end_step));
    v1::WorkerTotals* totals = waiting_.mutable_totals();
    totals->set_samples(totals->samples() + report.sample_count);
    totals->set_compute_us(totals->compute_us() + report.compute_us);
    totals->set_pull_wait_us(totals->pull_wait_us() + report.pull_wait_us);
    totals->set_push_wait_us(totals->push_wait_us() + report.push_wait_us);
    if (parameter_client_ != nullptr) {
      const ClientStats stats = parameter_client_->Stats();
      const v1::WorkerTotals& before = options_.before;
      totals->set_bytes_pushed(before.bytes_pushed() + stats.bytes_pushed);
      totals->set_bytes_pulled(before.bytes_pulled() + stats.bytes_pulled);
      totals->set_bytes_shared(before.bytes_shared() + stats.bytes_shared);
    }
  }
  return options_.check != nullptr ? options_.check() : absl::OkStatus();
}

void ProgressReporter::OnEvaluation(int64_t step,
                                    const EvaluationResult& result) {
  MutexLock lock(&mu_);
  *waiting_.add_evaluations() = ToProto(step, result);
  DropOldest(kWaitingMax, waiting_.mutable_evaluations());
}

void ProgressReporter::OnFinished() {
  MutexLock lock(&mu_);
  waiting_.set_finished(true);
  waiting_.set_step(options_.end_step);
}

void ProgressReporter::Run() {
  while (!stop_.WaitForMs(options_.interval_ms)) {
    // What fails is sent with the next one; the lease keeper says who is away.
    Send(/*end=*/nullptr).IgnoreError();
  }
}

absl::StatusOr<v1::ReportProgressResponse> ProgressReporter::Send(
    const End* end) {
  MutexLock send_lock(&send_mu_);
  v1::ReportProgressRequest report;
  {
    MutexLock lock(&mu_);
    report = waiting_;
  }
  if (end != nullptr) {
    report.set_finished(end->finished);
    // A path of this machine need not be UTF-8, a message must.
    report.set_error(Printable(end->error));
    report.set_leaving(true);
    if (end->finished) {
      report.set_step(options_.end_step);
    }
  }
  absl::StatusOr<v1::ReportProgressResponse> response =
      options_.client->ReportProgress(report);
  if (response.ok()) {
    // New ones came behind. When OnStep dropped some meanwhile, as many more
    // are lost: the coordinator was away for hours.
    MutexLock lock(&mu_);
    const auto forget = [](int sent, auto* items) {
      items->DeleteSubrange(0, std::min(sent, items->size()));
    };
    forget(report.steps_size(), waiting_.mutable_steps());
    forget(report.evaluations_size(), waiting_.mutable_evaluations());
  }
  return response;
}

absl::Status ProgressReporter::Finish(const End& end) {
  stop_.RequestStop();
  RetryOptions retry;
  retry.peer = "the coordinator";
  retry.timeout_ms = end.timeout_ms;
  retry.clock = options_.clock;
  StopToken never;
  retry.wait_ms = [&never](int64_t ms) { return never.WaitForMs(ms); };
  retry.log = options_.log;
  return CallUntilAnswered<v1::ReportProgressResponse>(
             retry, [&] { return Send(&end); })
      .status();
}

int64_t ProgressReporter::step() const {
  MutexLock lock(&mu_);
  return waiting_.step();
}

v1::WorkerTotals ProgressReporter::totals() const {
  MutexLock lock(&mu_);
  return waiting_.totals();
}

}  // namespace selari
