#include "cli/centralised.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/local_coordinator_client.h"
#include "cli/local_transport.h"
#include "common/clock.h"
#include "common/executor.h"
#include "common/incarnation.h"
#include "common/isa.h"
#include "common/lease_keeper.h"
#include "common/log_line.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/coordinator_stores.h"
#include "server/coordinator/resume.h"
#include "server/shard/shard_host.h"
#include "server/shard_control/local_shard_control.h"
#include "worker/worker.h"

namespace selari {
namespace {

constexpr int64_t kTickMs = 100;
constexpr int64_t kPollMs = 20;
// Members of one process live and die together; a lease could only end by
// mistake, as when a laptop sleeps.
constexpr int32_t kLeaseMs = 3'600'000;

v1::ResolvedJob InOneProcess(v1::ResolvedJob job) {
  v1::Cluster* cluster = job.mutable_job()->mutable_cluster();
  cluster->set_servers(1);
  cluster->set_workers(1);
  cluster->set_lease_ms(kLeaseMs);
  return job;
}

class CentralisedJobImpl final : public CentralisedJob {
 public:
  explicit CentralisedJobImpl(const CentralisedOptions& options)
      : options_(options),
        job_(InOneProcess(options.job)),
        log_(LogOrStandardError(options.log)),
        incarnation_(NewIncarnation()) {}

  ~CentralisedJobImpl() override {
    if (coordinator_ != nullptr) {
      coordinator_->FailJob(absl::CancelledError("the process ends"));
    }
    JoinThreads();
  }

  absl::Status StartAll();
  CoordinatorClient* coordinator() override { return client_.get(); }
  absl::Status Wait(const StopToken* stop) override;

 private:
  absl::Status MakeCoordinator();
  std::unique_ptr<ShardControl> MakeControl();
  absl::Status RegisterServer();
  void KeepServerLease();
  void RunTheWorker();
  void JoinThreads();
  bool ended() const {
    const v1::JobState state = coordinator_->state();
    return state == v1::JOB_STATE_DONE || state == v1::JOB_STATE_STOPPED ||
           state == v1::JOB_STATE_FAILED;
  }

  const CentralisedOptions options_;
  const v1::ResolvedJob job_;
  const LogSink log_;
  const uint64_t incarnation_;
  const SystemClock clock_;
  PosixFileEnv file_env_;
  CoordinatorStores stores_;
  std::unique_ptr<ShardHost> host_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<CoordinatorClient> client_;
  std::unique_ptr<LeaseKeeper> lease_keeper_;
  StopToken end_;
  std::thread ticker_;
  std::thread worker_;
};

std::unique_ptr<ShardControl> CentralisedJobImpl::MakeControl() {
  LocalShardControl::Options options;
  options.incarnation = incarnation_;
  LocalShardControl::Environment environment;
  environment.host = host_.get();
  environment.file_env = &file_env_;
  environment.clock = &clock_;
  environment.control_executor = std::make_unique<ThreadExecutor>();
  environment.disk_executor = std::make_unique<ThreadExecutor>();
  return std::make_unique<LocalShardControl>(options, std::move(environment));
}

absl::Status CentralisedJobImpl::MakeCoordinator() {
  Coordinator::Options options;
  options.job = job_;
  options.log_joins = false;
  if (job_.job().checkpointing().durability() == v1::DURABILITY_JOURNALED) {
    log_(
        "one process keeps no journals: nobody would be left to go on by "
        "them; checkpoints are its durability");
  }
  if (!options_.resume_checkpoint.empty()) {
    SELARI_ASSIGN_OR_RETURN(
        options.resume,
        CheckResume(file_env_, job_, options_.resume_checkpoint, log_));
  }
  Coordinator::Environment environment;
  environment.clock = &clock_;
  environment.metadata = stores_.metadata.get();
  environment.checkpoints = stores_.checkpoints.get();
  environment.make_control = [this](const v1::ServerEntry&) {
    return MakeControl();
  };
  environment.control_executor = std::make_unique<ThreadExecutor>();
  environment.io_executor = std::make_unique<ThreadExecutor>();
  environment.log = log_;
  SELARI_ASSIGN_OR_RETURN(
      coordinator_,
      Coordinator::Create(std::move(options), std::move(environment)));
  client_ = MakeLocalCoordinatorClient(coordinator_.get());
  return absl::OkStatus();
}

absl::Status CentralisedJobImpl::RegisterServer() {
  v1::RegisterServerRequest request;
  request.set_server_id(0);
  request.set_incarnation(incarnation_);
  request.set_address("in-process");
  request.set_instruction_set(
      static_cast<v1::InstructionSet>(DetectIsaLevel()));
  return client_->RegisterServer(request).status();
}

void CentralisedJobImpl::KeepServerLease() {
  LeaseKeeper::Options lease;
  lease.client = client_.get();
  lease.clock = &clock_;
  lease.request.set_kind(v1::MEMBER_KIND_SERVER);
  lease.request.set_incarnation(incarnation_);
  lease.interval_ms = LeaseKeeper::IntervalForLease(kLeaseMs);
  lease.on_renewal = [](const auto&, int64_t) { return true; };
  lease_keeper_ = std::make_unique<LeaseKeeper>(lease);
}

void CentralisedJobImpl::RunTheWorker() {
  WorkerOptions options;
  options.coordinator = client_.get();
  options.make_transport = [this](const v1::ResolvedJob&, const v1::ShardMap&,
                                  const WorkerIdentity& worker)
      -> absl::StatusOr<std::unique_ptr<ShardTransport>> {
    return MakeLocalTransport(host_.get(), worker);
  };
  options.base_dir = options_.base_dir;
  options.worker_id = 0;
  options.job_id = job_.job_id();
  options.log = log_;
  const absl::Status status = RunWorker(options).status();
  if (!status.ok()) {
    // Also when it failed before it could report anything.
    coordinator_->FailJob(status);
  }
}

absl::Status CentralisedJobImpl::StartAll() {
  if (job_.job().model().has_custom()) {
    return absl::InvalidArgumentError(
        "a model of the user's own (model.custom) has no layers that this "
        "process could compute: start servers and the user's workers");
  }
  SELARI_ASSIGN_OR_RETURN(
      stores_, CoordinatorStores::Open(file_env_, clock_,
                                       {options_.output_dir, incarnation_,
                                        options_.program_version, log_}));
  ShardHost::Options host;
  const int32_t threads = job_.job().cluster().server_threads();
  host.threads =
      threads > 0
          ? threads
          : std::max(1,
                     static_cast<int32_t>(std::thread::hardware_concurrency()));
  host_ = ShardHost::Create(host);
  SELARI_RETURN_IF_ERROR(MakeCoordinator());
  SELARI_RETURN_IF_ERROR(RegisterServer());
  KeepServerLease();
  ticker_ = std::thread([this] {
    while (!end_.WaitForMs(kTickMs)) {
      coordinator_->Tick();
    }
  });
  worker_ = std::thread([this] { RunTheWorker(); });
  return absl::OkStatus();
}

absl::Status CentralisedJobImpl::Wait(const StopToken* stop) {
  bool stop_asked_for = false;
  while (!ended()) {
    if (!stop_asked_for && stop != nullptr && stop->stop_requested()) {
      stop_asked_for = true;
      log_("stops the job and saves a checkpoint");
      coordinator_->StopJob([](const absl::StatusOr<v1::StopJobResponse>&) {});
    }
    end_.WaitForMs(kPollMs);
  }
  JoinThreads();
  return coordinator_->result();
}

void CentralisedJobImpl::JoinThreads() {
  if (worker_.joinable()) {
    worker_.join();
  }
  end_.RequestStop();
  if (ticker_.joinable()) {
    ticker_.join();
  }
  lease_keeper_.reset();
}

}  // namespace

absl::StatusOr<std::unique_ptr<CentralisedJob>> CentralisedJob::Start(
    const CentralisedOptions& options) {
  auto job = std::make_unique<CentralisedJobImpl>(options);
  SELARI_RETURN_IF_ERROR(job->StartAll());
  return std::unique_ptr<CentralisedJob>(std::move(job));
}

}  // namespace selari
