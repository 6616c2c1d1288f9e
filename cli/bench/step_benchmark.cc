#include "cli/bench/step_benchmark.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "cli/local_transport.h"
#include "common/incarnation.h"
#include "common/isa.h"
#include "common/status.h"
#include "kernels/kernels.h"
#include "server/shard/shard_host.h"
#include "server/shard/shard_job.h"
#include "worker/client/parameter_client_impl.h"
#include "worker/model/network.h"
#include "worker/step.h"
#include "worker/work.h"

namespace selari {
namespace {

using Clock = std::chrono::steady_clock;

int32_t ThreadsOr(int32_t asked_for, int32_t of_job) {
  if (asked_for > 0 || of_job > 0) {
    return asked_for > 0 ? asked_for : of_job;
  }
  return std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
}

struct Usage {
  double cpu_seconds = 0;
  int64_t page_faults = 0;
};

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         1e-6 * static_cast<double>(time.tv_usec);
}

Usage UsageNow() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return {Seconds(usage.ru_utime) + Seconds(usage.ru_stime),
          usage.ru_minflt + usage.ru_majflt};
}

// Keeps what each step took, and when it was done.
class Recorder final : public StepObserver {
 public:
  explicit Recorder(int64_t warm_up_steps) : warm_up_steps_(warm_up_steps) {}

  absl::Status OnStep(const StepReport& report) override {
    if (report.step + 1 < warm_up_steps_) {
      return absl::OkStatus();
    }
    if (report.step + 1 == warm_up_steps_) {
      usage_begin_ = UsageNow();
    } else {
      reports_.push_back(report);
    }
    times_.push_back(Clock::now());
    usage_end_ = UsageNow();
    return absl::OkStatus();
  }
  void OnEvaluation(int64_t, const EvaluationResult&) override {}

  void Summarise(StepReportSummary* summary) const;

 private:
  // Of steps (begin, end], counted from the end of the warm-up.
  double SecondsOf(size_t begin, size_t end) const {
    return std::chrono::duration<double>(times_[end] - times_[begin]).count();
  }
  template <class Field>
  double Mean(Field field) const {
    double sum = 0;
    for (const StepReport& report : reports_) {
      sum += static_cast<double>(report.*field);
    }
    return sum / static_cast<double>(reports_.size());
  }

  const int64_t warm_up_steps_;
  std::vector<StepReport> reports_;
  std::vector<Clock::time_point> times_;  // one more than reports_
  Usage usage_begin_;
  Usage usage_end_;
};

void Recorder::Summarise(StepReportSummary* summary) const {
  const size_t steps = reports_.size();
  const auto repeats = static_cast<size_t>(summary->options.repeats);
  std::vector<double> rates;
  for (size_t part = 0; part < repeats; ++part) {
    const size_t begin = steps * part / repeats;
    const size_t end = steps * (part + 1) / repeats;
    int64_t samples = 0;
    for (size_t step = begin; step < end; ++step) {
      samples += reports_[step].sample_count;
    }
    rates.push_back(static_cast<double>(samples) / SecondsOf(begin, end));
  }
  summary->samples_per_second = SpreadOf(std::move(rates));
  std::vector<double> step_us;
  for (size_t step = 0; step < steps; ++step) {
    step_us.push_back(1e6 * SecondsOf(step, step + 1));
  }
  summary->step_p50_us = PercentileOf(step_us, 50);
  summary->step_p99_us = PercentileOf(step_us, 99);
  const double seconds = SecondsOf(0, steps);
  const auto count = static_cast<double>(steps);
  summary->compute_us = Mean(&StepReport::compute_us);
  summary->pull_wait_us = Mean(&StepReport::pull_wait_us);
  summary->push_wait_us = Mean(&StepReport::push_wait_us);
  summary->rest_us =
      std::max(0.0, 1e6 * seconds / count - summary->compute_us -
                        summary->pull_wait_us - summary->push_wait_us);
  summary->cores_used =
      (usage_end_.cpu_seconds - usage_begin_.cpu_seconds) / seconds;
  summary->page_faults_per_step =
      static_cast<double>(usage_end_.page_faults - usage_begin_.page_faults) /
      count;
}

// All shards in this process, and the way to them.
struct LocalShards {
  std::unique_ptr<ShardHost> host;
  std::unique_ptr<ParameterClient> client;
};

absl::StatusOr<LocalShards> MakeShards(const v1::ResolvedJob& job) {
  SELARI_ASSIGN_OR_RETURN(const std::shared_ptr<const ShardJob> shard_job,
                          ShardJob::Create(job));
  LocalShards shards;
  ShardHost::Options options;
  options.threads = ThreadsOr(0, job.job().cluster().server_threads());
  shards.host = ShardHost::Create(options);
  std::vector<int32_t> all(
      static_cast<size_t>(shard_job->layout.shard_count()));
  std::iota(all.begin(), all.end(), 0);
  SELARI_RETURN_IF_ERROR(shards.host->Initialize(shard_job, all));
  SELARI_ASSIGN_OR_RETURN(
      shards.client,
      ConnectParameterClient(
          job, MakeLocalTransport(shards.host.get(), {0, NewIncarnation()}),
          {}));
  return shards;
}

absl::Status Train(const Work& work, const StepReportSummary& summary,
                   Recorder* recorder) {
  SELARI_ASSIGN_OR_RETURN(const LocalShards shards, MakeShards(work.job));
  const v1::Job& job = work.job.job();
  NetworkOptions network_options;
  network_options.seed = job.seed();
  network_options.thread_count = summary.options.threads;
  Network network(
      work.plan,
      KernelsFor(static_cast<IsaLevel>(job.cluster().instruction_set())),
      network_options);
  const SamplerOptions sampling = work.Sampling();
  SELARI_RETURN_IF_ERROR(sampling.Validate());
  const Sampler sampler(sampling);
  StepLoop::Parts parts;
  parts.model = &network;
  parts.client = shards.client.get();
  parts.training = &work.data.train;
  parts.sampler = &sampler;
  parts.observer = recorder;
  StepLoopOptions steps;
  steps.end_step = summary.options.warm_up_steps + summary.options.steps;
  steps.leaf_count = job.training().leaf_count();
  steps.leaves = {0, steps.leaf_count};
  return StepLoop(parts, steps).Run();
}

}  // namespace

absl::StatusOr<StepReportSummary> MeasureSteps(
    const v1::ResolvedJob& job, absl::string_view base_dir,
    const StepBenchOptions& options) {
  SELARI_ASSIGN_OR_RETURN(const Work work, LoadWork(job, base_dir));
  StepReportSummary summary;
  summary.options = options;
  summary.options.threads =
      ThreadsOr(options.threads, job.job().cluster().worker_threads());
  summary.job = job.job().name();
  summary.batch = work.Sampling().batch_size;
  for (const v1::TensorSpec& tensor : job.tensors()) {
    summary.weights +=
        std::accumulate(tensor.shape().begin(), tensor.shape().end(),
                        int64_t{1}, std::multiplies<int64_t>());
  }
  Recorder recorder(options.warm_up_steps);
  SELARI_RETURN_IF_ERROR(Train(work, summary, &recorder));
  recorder.Summarise(&summary);
  return summary;
}

}  // namespace selari
