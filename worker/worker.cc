#include "worker/worker.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/error_reason.h"
#include "common/human.h"
#include "common/incarnation.h"
#include "common/isa.h"
#include "common/job_stopper.h"
#include "common/lease_keeper.h"
#include "common/log_line.h"
#include "common/retry.h"
#include "common/status.h"
#include "kernels/kernels.h"
#include "worker/client/cancellable_transport.h"
#include "worker/client/parameter_client.h"
#include "worker/client/parameter_client_impl.h"
#include "worker/data/sampler.h"
#include "worker/map_follower.h"
#include "worker/map_refresher.h"
#include "worker/model/network.h"
#include "worker/progress_reporter.h"
#include "worker/step.h"
#include "worker/step_options.h"
#include "worker/work.h"

namespace selari {
namespace {

// A wait for servers is told to people this often.
constexpr int64_t kWaitLogIntervalMs = 5'000;
constexpr int64_t kStatusPollMs = 100;
constexpr int64_t kLastWordMs = 2'000;
// A job that is at another step each time is at fault.
constexpr int kFindsMax = 5;

int32_t ThreadCount(int32_t asked_for, const v1::Job& job) {
  if (asked_for > 0) {
    return asked_for;
  }
  if (job.cluster().worker_threads() > 0) {
    return job.cluster().worker_threads();
  }
  return std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
}

// One life of a worker.
class WorkerRun {
 public:
  explicit WorkerRun(const WorkerOptions& options)
      : options_(options), log_(LogOrStandardError(options.log)) {}

  absl::StatusOr<WorkerResult> Run();

 private:
  RetryOptions Retry() const;
  v1::RegisterWorkerRequest Registration(int32_t worker_id) const;
  absl::Status Register();
  std::unique_ptr<LeaseKeeper> KeepLease();
  bool OnRenewal(const absl::StatusOr<v1::RenewLeaseResponse>& response,
                 int64_t silent_ms);
  void OnJobEnded(v1::JobState state);
  absl::StatusOr<v1::GetShardMapResponse> WaitForShards();

  ProgressReporter::Options ReporterOptions(int64_t shard_map_version,
                                            const StepLoopOptions& steps);
  MapRefresher::Options RefresherOptions(int64_t shard_map_version,
                                         TransportSwitch* transport) const;
  absl::Status RunSteps(const v1::GetShardMapResponse& map,
                        StepLoopOptions steps, ProgressReporter* reporter);
  bool FindsStepAnew(const absl::Status& status);
  absl::StatusOr<WorkerResult> End(absl::Status status,
                                   ProgressReporter* reporter);
  // As WorkerOptions.log_life.
  void LogLife(const std::string& sentence) const;
  void LogJoined() const;
  void LogPart(const v1::GetShardMapResponse& map,
               const StepLoopOptions& steps) const;
  void LogEnd(const WorkerResult& result) const;

  const WorkerOptions options_;
  const LogSink log_;
  const SystemClock clock_;
  WorkerIdentity identity_;
  int32_t lease_ms_ = 0;
  // Others train, at a step of their own; until this one has done a step too.
  bool finds_step_ = false;
  int times_found_ = 0;
  Work work_;
  TransportSwitch off_;  // for good
  // Of the tries that the job went back from.
  v1::WorkerTotals totals_;
  const StopToken never_;

  // Made when the worker has registered.
  std::unique_ptr<MapFollower> maps_;
  std::atomic<int64_t> steps_done_{0};
  std::atomic<bool> job_done_{false};
  // Used by the lease keeper's thread only.
  int64_t silence_logged_ms_ = 0;
  int64_t steps_seen_ = 0;
};

RetryOptions WorkerRun::Retry() const {
  RetryOptions retry;
  retry.peer = options_.coordinator_name;
  retry.timeout_ms = options_.coordinator_timeout_ms;
  retry.clock = &clock_;
  retry.wait_ms = [this](int64_t ms) {
    return (options_.stop != nullptr ? options_.stop : &never_)->WaitForMs(ms);
  };
  retry.log = log_;
  return retry;
}

v1::RegisterWorkerRequest WorkerRun::Registration(int32_t worker_id) const {
  v1::RegisterWorkerRequest request;
  request.set_worker_id(worker_id);
  request.set_incarnation(identity_.incarnation);
  request.set_instruction_set(
      static_cast<v1::InstructionSet>(DetectIsaLevel()));
  request.set_train_sample_count(work_.data.train.size);
  request.set_train_data_checksum(work_.data.train_checksum);
  request.set_job_id(options_.job_id.empty() ? work_.job.job_id()
                                             : options_.job_id);
  return request;
}

absl::Status WorkerRun::Register() {
  const v1::RegisterWorkerRequest request = Registration(options_.worker_id);
  SELARI_ASSIGN_OR_RETURN(
      const v1::RegisterWorkerResponse response,
      CallUntilAnswered<v1::RegisterWorkerResponse>(Retry(), [&] {
        return options_.coordinator->RegisterWorker(request);
      }));
  identity_.worker_id = response.worker_id();
  lease_ms_ = response.lease_ms();
  finds_step_ = response.find_step();
  LogJoined();
  return absl::OkStatus();
}

std::unique_ptr<LeaseKeeper> WorkerRun::KeepLease() {
  LeaseKeeper::Options lease;
  lease.client = options_.coordinator;
  lease.clock = &clock_;
  lease.request.set_kind(v1::MEMBER_KIND_WORKER);
  lease.request.set_member_id(identity_.worker_id);
  lease.request.set_incarnation(identity_.incarnation);
  lease.interval_ms = LeaseKeeper::IntervalForLease(lease_ms_);
  lease.on_renewal = [this](const auto& response, int64_t silent_ms) {
    return OnRenewal(response, silent_ms);
  };
  return std::make_unique<LeaseKeeper>(lease);
}

bool WorkerRun::OnRenewal(
    const absl::StatusOr<v1::RenewLeaseResponse>& response, int64_t silent_ms) {
  const int64_t now_ms = clock_.NowMs();
  if (response.ok()) {
    OnJobEnded(response->state());
    maps_->OnRenewal(*response);
    steps_seen_ = steps_done_;
  }
  // A worker that is told to end has no use for its lease.
  if (response.ok() || !off_.status().ok()) {
    return off_.status().ok();
  }
  if (absl::IsNotFound(response.status())) {
    // The coordinator had given this worker up: come back, if it may.
    const absl::Status status =
        options_.coordinator->RegisterWorker(Registration(identity_.worker_id))
            .status();
    if (absl::IsAlreadyExists(status) || absl::IsFailedPrecondition(status)) {
      off_.Cancel(status);
    }
    return true;
  }
  if (silent_ms >= options_.coordinator_timeout_ms) {
    off_.Cancel(absl::DeadlineExceededError(
        absl::StrCat(options_.coordinator_name, " did not answer for ",
                     silent_ms / 1000, " s: ", response.status().message())));
  } else if (now_ms - silence_logged_ms_ >= kWaitLogIntervalMs) {
    silence_logged_ms_ = now_ms;
    const int64_t steps_done = steps_done_;
    log_(absl::StrCat(
        options_.coordinator_name, " has not answered for ", silent_ms / 1000,
        steps_done > steps_seen_ ? " s; training goes on, gives up in "
                                 : " s; gives up in ",
        (options_.coordinator_timeout_ms - silent_ms) / 1000, " s"));
    steps_seen_ = steps_done;
  }
  return true;
}

void WorkerRun::OnJobEnded(v1::JobState state) {
  if (state == v1::JOB_STATE_FAILED) {
    const absl::StatusOr<v1::JobStatus> status =
        options_.coordinator->GetJobStatus();
    off_.Cancel(absl::AbortedError(absl::StrCat(
        "the job failed: ", status.ok() ? status->message() : "no reason")));
  } else if (state == v1::JOB_STATE_STOPPED) {
    off_.Cancel(WithReason(absl::AbortedError("the job was stopped"),
                           ErrorReason::kJobStopped));
  } else if (state == v1::JOB_STATE_DONE) {
    // A life that came too late for the last step would wait for servers that
    // are gone.
    job_done_ = true;
    off_.Cancel(WithReason(absl::AbortedError("the job is done"),
                           ErrorReason::kJobStopped));
  }
}

absl::StatusOr<v1::GetShardMapResponse> WorkerRun::WaitForShards() {
  RetryOptions retry = Retry();
  retry.wait_ms = [this](int64_t ms) {
    return never_.WaitForMs(ms) || !off_.status().ok();
  };
  int64_t logged_ms = clock_.NowMs() - kWaitLogIntervalMs / 2;
  while (true) {
    SELARI_ASSIGN_OR_RETURN(const v1::JobStatus status,
                            CallUntilAnswered<v1::JobStatus>(retry, [&] {
                              return options_.coordinator->GetJobStatus();
                            }));
    if (status.state() != v1::JOB_STATE_JOINING &&
        status.state() != v1::JOB_STATE_INITIALIZING) {
      OnJobEnded(status.state());
      SELARI_RETURN_IF_ERROR(off_.status());
      return CallUntilAnswered<v1::GetShardMapResponse>(
          retry, [&] { return options_.coordinator->GetShardMap(); });
    }
    if (clock_.NowMs() - logged_ms >= kWaitLogIntervalMs) {
      logged_ms = clock_.NowMs();
      log_(absl::StrCat("worker ", identity_.worker_id,
                        " waits for its servers: the coordinator ",
                        status.message()));
    }
    // Not cut short by a stop: the job's end comes here as its state.
    never_.WaitForMs(kStatusPollMs);
    SELARI_RETURN_IF_ERROR(off_.status());
  }
}

ProgressReporter::Options WorkerRun::ReporterOptions(
    int64_t shard_map_version, const StepLoopOptions& steps) {
  ProgressReporter::Options reporter;
  reporter.client = options_.coordinator;
  reporter.clock = &clock_;
  reporter.worker_id = identity_.worker_id;
  reporter.incarnation = identity_.incarnation;
  reporter.shard_map_version = shard_map_version;
  reporter.first_step = steps.first_step;
  reporter.end_step = steps.end_step;
  reporter.stride = steps.stride;
  reporter.before = totals_;
  reporter.log_every_steps =
      std::max<int64_t>(1, work_.job.job().training().log_every_steps());
  reporter.check = [this] {
    ++steps_done_;
    finds_step_ = false;
    return absl::OkStatus();
  };
  reporter.log = log_;
  return reporter;
}

MapRefresher::Options WorkerRun::RefresherOptions(
    int64_t shard_map_version, TransportSwitch* transport) const {
  MapRefresher::Options refresher;
  refresher.client = options_.coordinator;
  refresher.transport = transport;
  refresher.identity = identity_;
  refresher.map_version = shard_map_version;
  refresher.newest_version = [this] { return maps_->newest_version(); };
  refresher.on_map = [this](int64_t version) {
    LogLife(absl::StrCat("goes on with the servers of shard map ", version));
  };
  return refresher;
}

absl::Status WorkerRun::RunSteps(const v1::GetShardMapResponse& map,
                                 StepLoopOptions steps,
                                 ProgressReporter* reporter) {
  const v1::Job& job = work_.job.job();
  // To the shards each try is a life of its own: its pushes count from 1.
  SELARI_ASSIGN_OR_RETURN(
      std::unique_ptr<ShardTransport> transport,
      options_.make_transport(work_.job, map.shard_map(),
                              {identity_.worker_id, NewIncarnation()}));
  TransportSwitch attempt_off;
  const MapFollower::Use use(maps_.get(), map.shard_map().version(),
                             &attempt_off);
  transport = std::make_unique<CancellableTransport>(std::move(transport),
                                                     &attempt_off);
  std::optional<MapRefresher> refresher;
  if (job.checkpointing().durability() == v1::DURABILITY_JOURNALED) {
    refresher.emplace(
        RefresherOptions(map.shard_map().version(), &attempt_off));
  }
  ParameterClientOptions client_options;
  client_options.connect_timeout_ms = options_.coordinator_timeout_ms;
  client_options.on_waiting = [this](const std::string& sentence) {
    log_(absl::StrCat("worker ", identity_.worker_id, ": ", sentence));
  };
  SELARI_ASSIGN_OR_RETURN(
      const std::unique_ptr<ParameterClient> client,
      ConnectParameterClient(
          work_.job,
          std::make_unique<CancellableTransport>(std::move(transport), &off_),
          client_options));
  NetworkOptions network_options;
  network_options.seed = job.seed();
  network_options.thread_count = ThreadCount(options_.threads, job);
  Network network(
      work_.plan,
      KernelsFor(static_cast<IsaLevel>(job.cluster().instruction_set())),
      network_options);
  const SamplerOptions sampling = work_.Sampling();
  SELARI_RETURN_IF_ERROR(sampling.Validate());
  const Sampler sampler(sampling);
  StepLoop::Parts parts;
  parts.model = &network;
  parts.client = client.get();
  parts.training = &work_.data.train;
  parts.sampler = &sampler;
  parts.held_out = work_.data.test.has_value() ? &*work_.data.test : nullptr;
  parts.observer = reporter;
  if (finds_step_) {
    SELARI_ASSIGN_OR_RETURN(steps.first_step, client->FindStep());
    LogLife(absl::StrCat("goes on with step ", steps.first_step));
    reporter->set_step(steps.first_step);
  }
  reporter->set_parameter_client(client.get());
  StepLoop loop(parts, steps);
  absl::Status status = loop.Run();
  reporter->set_parameter_client(nullptr);
  return status;
}

absl::StatusOr<WorkerResult> WorkerRun::Run() {
  SELARI_ASSIGN_OR_RETURN(const v1::GetJobResponse job,
                          CallUntilAnswered<v1::GetJobResponse>(Retry(), [&] {
                            return options_.coordinator->GetJob();
                          }));
  SELARI_ASSIGN_OR_RETURN(work_, LoadWork(job.job(), options_.base_dir));
  identity_.incarnation = NewIncarnation();
  SELARI_RETURN_IF_ERROR(Register());
  MapFollower::Options maps;
  maps.client = options_.coordinator;
  maps.clock = &clock_;
  maps.identity = identity_;
  maps.lease_ms = lease_ms_;
  maps.on_state = [this](v1::JobState state) {
    OnJobEnded(state);
    return off_.status();
  };
  maps_ = std::make_unique<MapFollower>(std::move(maps));
  const std::unique_ptr<LeaseKeeper> lease = KeepLease();
  JobStopper::Options stopping;
  stopping.client = options_.coordinator;
  stopping.stop = options_.stop;
  stopping.log = log_;
  stopping.on_failed = [this](const absl::Status& status) {
    off_.Cancel(status);
  };
  const JobStopper stopper(stopping);
  while (true) {
    const absl::StatusOr<v1::GetShardMapResponse> map = WaitForShards();
    const StepLoopOptions steps = StepOptionsOf(
        work_, identity_.worker_id, map.ok() ? map->start_step() : 0);
    const int64_t version = map.ok() ? map->shard_map().version() : 0;
    ProgressReporter reporter(ReporterOptions(version, steps));
    if (!map.ok()) {
      return End(map.status(), &reporter);
    }
    LogPart(*map, steps);
    const absl::Status status = RunSteps(*map, steps, &reporter);
    totals_ = reporter.totals();
    if (status.ok()) {
      reporter.OnFinished();
      if (!maps_->WaitForEnd(version)) {
        continue;
      }
    }
    if (status.ok() || IsJobStopped(status)) {
      return End(status, &reporter);
    }
    if (FindsStepAnew(status)) {
      LogLife(absl::StrCat("looks for its step anew: ", status.message()));
      continue;
    }
    // The job may have lost another member: the error alone cannot tell.
    LogLife(absl::StrCat("asks whether the job goes back: ", status.message()));
    if (!maps_->MayTryAgain(status, version)) {
      return End(status, &reporter);
    }
    LogLife("goes back with the job");
  }
}

// Before its first step: the one that it found is gone where a server came back
// meanwhile, which has no version before its newest. Then all shards have this
// worker's part of that step, and there is a later one to find.
bool WorkerRun::FindsStepAnew(const absl::Status& status) {
  const ErrorReason reason = ReasonOf(status);
  return finds_step_ &&
         (reason == ErrorReason::kStepTooFar ||
          reason == ErrorReason::kStaleIncarnation) &&
         ++times_found_ < kFindsMax;
}

absl::StatusOr<WorkerResult> WorkerRun::End(absl::Status status,
                                            ProgressReporter* reporter) {
  // A cancelled wait may surface as the transport's error: say why instead.
  if (!status.ok() && !off_.status().ok()) {
    status = off_.status();
  }
  ProgressReporter::End end;
  end.finished = status.ok();
  const bool stopped_early = IsJobStopped(status);
  // Of a job that has ended the coordinator takes no notice of it.
  if (!status.ok() && !stopped_early) {
    end.error = std::string(status.message());
  }
  // Once the job has ended the coordinator does not wait for long.
  end.timeout_ms = stopped_early || !off_.status().ok()
                       ? kLastWordMs
                       : options_.coordinator_timeout_ms;
  const absl::Status reported = reporter->Finish(end);
  if (!reported.ok()) {
    log_(absl::StrCat("the coordinator did not take the last report: ",
                      reported.message()));
    if (status.ok()) {
      status = reported;
    }
  }
  if (!status.ok() && !stopped_early) {
    // The job's failure may be this worker's own, told back to it.
    const std::string name = absl::StrCat("worker ", identity_.worker_id);
    return absl::StartsWith(status.message(), absl::StrCat(name, ": "))
               ? status
               : Annotate(status, name);
  }
  WorkerResult result;
  result.worker_id = identity_.worker_id;
  result.step = reporter->step();
  result.stopped_early = stopped_early && !job_done_;
  result.totals = reporter->totals();
  LogEnd(result);
  return result;
}

void WorkerRun::LogLife(const std::string& sentence) const {
  if (options_.log_life) {
    log_(absl::StrCat("worker ", identity_.worker_id, " ", sentence));
  }
}

void WorkerRun::LogJoined() const {
  LogLife(absl::StrCat(
      "joined job ", work_.job.job_id(), " at ", options_.coordinator_name,
      " with ", work_.data.train.size, " samples to train on",
      work_.data.test.has_value()
          ? absl::StrCat(" and ", work_.data.test->size, " to test on")
          : ""));
}

void WorkerRun::LogPart(const v1::GetShardMapResponse& map,
                        const StepLoopOptions& steps) const {
  LogLife(absl::StrCat("computes ", PartName(steps), ", from ",
                       finds_step_ ? "the step that the others are at"
                                   : absl::StrCat("step ", map.start_step()),
                       " to ", steps.end_step, ", weights on ",
                       CountOf(map.shard_map().servers_size(), "server")));
}

void WorkerRun::LogEnd(const WorkerResult& result) const {
  LogLife(absl::StrCat(
      "ended: ",
      result.stopped_early ? "the job was stopped" : "all steps are done",
      ", it is at step ", result.step, " and computed ",
      CountOf(result.totals.samples(), "sample")));
}

}  // namespace

absl::StatusOr<WorkerResult> RunWorker(const WorkerOptions& options) {
  return WorkerRun(options).Run();
}

}  // namespace selari
