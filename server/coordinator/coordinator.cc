#include "server/coordinator/coordinator.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/error_reason.h"
#include "common/isa.h"
#include "common/job_reduction.h"
#include "common/status.h"
#include "server/coordinator/report_check.h"
#include "server/coordinator/wait_text.h"

namespace selari {
namespace {

// A wait is told to people within this time, and again after it.
constexpr int64_t kWaitLogIntervalMs = 5'000;
// The first word on a wait comes sooner: most waits are shorter than this.
constexpr int64_t kFirstWaitLogMs = 2'000;

Membership::Options MembershipOptions(const v1::Cluster& cluster,
                                      int64_t now_ms) {
  Membership::Options options;
  options.servers = cluster.servers();
  options.workers = cluster.workers();
  options.lease_ms = cluster.lease_ms();
  options.now_ms = now_ms;
  return options;
}

absl::string_view LevelName(v1::InstructionSet level) {
  return level == v1::INSTRUCTION_SET_UNSPECIFIED
             ? "an unknown level"
             : IsaLevelName(static_cast<IsaLevel>(level));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Coordinator>> Coordinator::Create(
    Options options, Environment environment) {
  SELARI_CHECK(options.job.job().cluster().servers() >= 1);
  SELARI_CHECK(options.job.job().cluster().workers() >= 1);
  SELARI_RETURN_IF_ERROR(
      environment.metadata->Put(kJobKey, options.job.SerializeAsString())
          .status());
  auto coordinator = std::unique_ptr<Coordinator>(
      new Coordinator(std::move(options), std::move(environment)));
  coordinator->Enter([&coordinator] {
    coordinator->mu_.AssertHeld();
    coordinator->PersistStatus();
  });
  return coordinator;
}

Coordinator::Coordinator(Options options, Environment environment)
    : options_(std::move(options)),
      cluster_(options_.job.job().cluster()),
      clock_(*environment.clock),
      metadata_(*environment.metadata),
      make_control_(std::move(environment.make_control)),
      log_(std::move(environment.log)),
      membership_(MembershipOptions(cluster_, clock_.NowMs())),
      progress_(cluster_.workers(), options_.resume.step,
                /*counts_correct=*/options_.job.job().model().loss() !=
                    v1::LOSS_MEAN_SQUARED_ERROR),
      data_checksum_(options_.job.train_data_checksum()),
      newest_(options_.resume),
      base_(options_.resume),
      orchestrator_(options_.job,
                    OrchestratorEnvironment(environment.checkpoints)),
      state_since_ms_(clock_.NowMs()),
      wait_logged_ms_(clock_.NowMs() - kWaitLogIntervalMs + kFirstWaitLogMs),
      control_executor_(std::move(environment.control_executor)),
      io_executor_(std::move(environment.io_executor)) {}

CheckpointOrchestrator::Environment Coordinator::OrchestratorEnvironment(
    CheckpointStore* store) {
  CheckpointOrchestrator::Environment environment;
  environment.post = [this](std::function<void()> closure) {
    control_executor_->Post(std::move(closure));
  };
  environment.post_io = [this](std::function<void()> closure) {
    io_executor_->Post(std::move(closure));
  };
  environment.enter = [this](const std::function<void()>& event) {
    Enter(event);
  };
  environment.store = store;
  environment.on_published = [this](const PublishedCheckpoint& published) {
    mu_.AssertHeld();
    newest_ = published;
    losses_ = 0;
    checkpoint_error_ = absl::OkStatus();
    ++change_count_;
    PersistStatus();
  };
  environment.on_failed = [this](const absl::Status& status) {
    mu_.AssertHeld();
    checkpoint_error_ = status;
    ++change_count_;
    Log(absl::StrCat(status.message(), "; training goes on"));
  };
  return environment;
}

// What is still posted runs with ending_ set, so it changes nothing; then the
// controls end their calls, and nobody is left who could call back.
Coordinator::~Coordinator() {
  std::vector<std::unique_ptr<ShardControl>> controls;
  {
    MutexLock lock(&mu_);
    orchestrator_.Abort(absl::CancelledError("the coordinator ends"));
    ending_ = true;
  }
  control_executor_.reset();
  io_executor_.reset();
  {
    MutexLock lock(&mu_);
    controls.swap(controls_);
    std::move(old_controls_.begin(), old_controls_.end(),
              std::back_inserter(controls));
    old_controls_.clear();
  }
  controls.clear();
}

void Coordinator::Enter(const std::function<void()>& event) {
  MutexLock lock(&mu_);
  if (!ending_) {
    event();
  }
}

// Members.

absl::Status Coordinator::CheckInstructionSet(v1::InstructionSet level,
                                              absl::string_view member) const {
  if (level >= cluster_.instruction_set()) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          member, "'s processor has ", LevelName(level), ", the job runs at ",
          LevelName(cluster_.instruction_set()),
          "; start the job with cluster.instruction_set at the level that all "
          "have")),
      ErrorReason::kInstructionSet);
}

absl::Status Coordinator::CheckJob(absl::string_view name,
                                   const std::string& job_id) const {
  if (job_id.empty() || job_id == options_.job.job_id()) {
    return absl::OkStatus();
  }
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        name, " belongs to job ", job_id,
                        ", this coordinator runs job ", options_.job.job_id())),
                    ErrorReason::kWrongJob);
}

// A coordinator stays for a while after its job, for those who were in it.
absl::Status Coordinator::CheckOpen(v1::MemberKind kind, uint64_t incarnation,
                                    absl::string_view name) const {
  for (const Member& member : membership_.members(kind)) {
    // One that this job waited for hears of the end by its lease.
    if (!ended() || member.incarnation == incarnation ||
        !member.ever_joined()) {
      return absl::OkStatus();
    }
  }
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          name, " comes too late: job ", options_.job.job_id(), " is ",
          v1::JobState_Name(state_).substr(10),
          ", and its coordinator ends soon; start the next one first")),
      ErrorReason::kWrongJob);
}

absl::StatusOr<v1::RegisterServerResponse> Coordinator::RegisterServer(
    const v1::RegisterServerRequest& request) {
  const std::string name = absl::StrCat("the server at ", request.address());
  SELARI_RETURN_IF_ERROR(CheckJob(name, request.job_id()));
  SELARI_RETURN_IF_ERROR(CheckInstructionSet(request.instruction_set(), name));
  MutexLock lock(&mu_);
  SELARI_RETURN_IF_ERROR(
      CheckOpen(v1::MEMBER_KIND_SERVER, request.incarnation(), name));
  const absl::StatusOr<int32_t> id = membership_.Join(
      v1::MEMBER_KIND_SERVER,
      {request.server_id(), request.incarnation(), request.address()},
      clock_.NowMs());
  if (!id.ok()) {
    return id.status();
  }
  ++change_count_;
  LogJoin(absl::StrCat("server ", *id, " joined at ", request.address()));
  if (shard_map_.version() > 0 && !ended() &&
      shard_map_.servers(*id).incarnation() != request.incarnation()) {
    LoseServer(*id, "came back with an empty memory");
  }
  MaybeInitialize();
  v1::RegisterServerResponse response;
  response.set_server_id(*id);
  *response.mutable_job() = options_.job;
  response.set_lease_ms(cluster_.lease_ms());
  return response;
}

absl::Status Coordinator::CheckWorker(
    const v1::RegisterWorkerRequest& request) const {
  const std::string name =
      request.worker_id() >= 0
          ? MemberName(v1::MEMBER_KIND_WORKER, request.worker_id())
          : "the worker";
  SELARI_RETURN_IF_ERROR(CheckJob(name, request.job_id()));
  if (request.train_sample_count() != options_.job.train_sample_count()) {
    return absl::FailedPreconditionError(absl::StrCat(
        name, " sees ", request.train_sample_count(),
        " training samples, the job has ", options_.job.train_sample_count(),
        "; give every worker the same data"));
  }
  return CheckInstructionSet(request.instruction_set(), name);
}

absl::Status Coordinator::CheckSamples(uint32_t checksum) const {
  if (checksum == 0 || data_checksum_ == 0 || checksum == data_checksum_) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the worker sees as many training samples as ",
      options_.job.train_data_checksum() != 0 ? "the job"
                                              : "the worker that came first",
      ", but others: their checksum is ", absl::Hex(checksum, absl::kZeroPad8),
      ", not ", absl::Hex(data_checksum_, absl::kZeroPad8),
      "; give every worker the same data"));
}

absl::StatusOr<v1::RegisterWorkerResponse> Coordinator::RegisterWorker(
    const v1::RegisterWorkerRequest& request) {
  SELARI_RETURN_IF_ERROR(CheckWorker(request));
  MutexLock lock(&mu_);
  SELARI_RETURN_IF_ERROR(CheckSamples(request.train_data_checksum()));
  SELARI_RETURN_IF_ERROR(
      CheckOpen(v1::MEMBER_KIND_WORKER, request.incarnation(), "the worker"));
  std::vector<uint64_t> lives;
  for (const Member& worker : membership_.members(v1::MEMBER_KIND_WORKER)) {
    lives.push_back(worker.incarnation);
  }
  const absl::StatusOr<int32_t> id = membership_.Join(
      v1::MEMBER_KIND_WORKER,
      {request.worker_id(), request.incarnation(), /*address=*/""},
      clock_.NowMs());
  if (!id.ok()) {
    return id.status();
  }
  if (data_checksum_ == 0) {
    data_checksum_ = request.train_data_checksum();
  }
  progress_.OnWorkerJoined(*id, request.incarnation());
  ++change_count_;
  LogJoin(absl::StrCat("worker ", *id, " joined"));
  if (lives[*id] != 0 && lives[*id] != request.incarnation()) {
    LoseWorker(*id);
  }
  v1::RegisterWorkerResponse response;
  response.set_worker_id(*id);
  response.set_find_step(
      WorkersFindTheStep() &&
      membership_.members(v1::MEMBER_KIND_WORKER)[*id].lives > 1);
  *response.mutable_job() = options_.job;
  response.set_lease_ms(cluster_.lease_ms());
  return response;
}

absl::StatusOr<v1::RenewLeaseResponse> Coordinator::RenewLease(
    const v1::RenewLeaseRequest& request) {
  if (request.kind() != v1::MEMBER_KIND_SERVER &&
      request.kind() != v1::MEMBER_KIND_WORKER) {
    return absl::InvalidArgumentError("a lease is of a server or a worker");
  }
  MutexLock lock(&mu_);
  SELARI_RETURN_IF_ERROR(membership_.Renew(request.kind(), request.member_id(),
                                           request.incarnation(),
                                           clock_.NowMs()));
  if (ended()) {
    membership_.NoteTold(request.kind(), request.member_id());
  }
  v1::RenewLeaseResponse response;
  response.set_state(state_);
  response.set_shard_map_version(shard_map_.version());
  response.set_base_map_version(base_map_version_);
  return response;
}

absl::StatusOr<v1::GetShardMapResponse> Coordinator::GetShardMap() const {
  MutexLock lock(&mu_);
  if (state_ == v1::JOB_STATE_FAILED) {
    return JobFailed();
  }
  if (state_ == v1::JOB_STATE_JOINING || state_ == v1::JOB_STATE_INITIALIZING) {
    return absl::UnavailableError(
        absl::StrCat("no shard map yet: the coordinator ", DescribeWait()));
  }
  if (shard_map_.version() == 0) {
    return absl::FailedPreconditionError("the job was stopped before it began");
  }
  v1::GetShardMapResponse response;
  *response.mutable_shard_map() = shard_map_;
  response.set_start_step(StartStep());
  return response;
}

// A worker that has done s + 1 steps had all weights of step s, so everything
// before step s is applied; of step s itself a worker that died may have
// pushed only a part. What is pushed twice is only answered.
int64_t Coordinator::StartStep() const {
  return std::max(base_.step, progress_.step() - 1);
}

v1::GetJobResponse Coordinator::GetJob() const {
  v1::GetJobResponse response;
  *response.mutable_job() = options_.job;
  return response;
}

absl::StatusOr<v1::ReportProgressResponse> Coordinator::ReportProgress(
    const v1::ReportProgressRequest& request) {
  SELARI_RETURN_IF_ERROR(CheckReport(request));
  MutexLock lock(&mu_);
  SELARI_RETURN_IF_ERROR(
      membership_.Renew(v1::MEMBER_KIND_WORKER, request.worker_id(),
                        request.incarnation(), clock_.NowMs()));
  ++change_count_;
  // Of work that was undone since, only its cost and its end count.
  if (request.shard_map_version() == 0 ||
      request.shard_map_version() >= base_map_version_) {
    progress_.Report(request);
  } else {
    progress_.ReportTotals(request);
  }
  if (request.leaving() || !request.error().empty()) {
    membership_.Leave(v1::MEMBER_KIND_WORKER, request.worker_id(),
                      request.incarnation());
  }
  if (!request.error().empty()) {
    Fail(absl::AbortedError(
        absl::StrCat("worker ", request.worker_id(), ": ", request.error())));
  } else if (state_ == v1::JOB_STATE_RUNNING) {
    orchestrator_.OnProgress(progress_.step());
    if (progress_.all_finished()) {
      Finish();
    }
  }
  if (ended()) {
    membership_.NoteTold(v1::MEMBER_KIND_WORKER, request.worker_id());
  }
  v1::ReportProgressResponse response;
  response.set_state(state_);
  return response;
}

// Time.

void Coordinator::Tick() {
  MutexLock lock(&mu_);
  const int64_t now_ms = clock_.NowMs();
  for (const Member* member : membership_.ExpireLeases(now_ms)) {
    OnLeaseEnded(*member);
  }
  if (!ended()) {
    GiveUpIfTooLate(v1::MEMBER_KIND_SERVER);
    GiveUpIfTooLate(v1::MEMBER_KIND_WORKER);
    EndStopInVain();
  }
  if (!ended() && now_ms - status_persisted_ms_ >= kStatusIntervalMs) {
    PersistStatus();
  }
  const std::string wait = DescribeWait();
  if (wait.empty() || ended()) {
    wait_logged_ms_ = now_ms - kWaitLogIntervalMs + kFirstWaitLogMs;
  } else if (now_ms - wait_logged_ms_ >= kWaitLogIntervalMs) {
    wait_logged_ms_ = now_ms;
    ++change_count_;
    Log(absl::StrCat("the coordinator ", wait));
  }
}

void Coordinator::OnLeaseEnded(const Member& member) {
  ++change_count_;
  if (ended()) {
    return;
  }
  OnMemberGone(
      member.kind, member.id,
      absl::StrCat("was not heard of for ", cluster_.lease_ms(), " ms"));
}

bool Coordinator::needs_workers() const {
  return !options_.job.job().model().has_custom();
}

void Coordinator::GiveUpIfTooLate(v1::MemberKind kind) {
  if (kind == v1::MEMBER_KIND_WORKER && !needs_workers()) {
    return;
  }
  const int64_t now_ms = clock_.NowMs();
  const int64_t give_up_ms = int64_t{1000} * cluster_.join_timeout_s();
  std::vector<const Member*> late;
  for (const Member* member : membership_.Missing(kind)) {
    if (now_ms - member->missing_since_ms >= give_up_ms) {
      late.push_back(member);
    }
  }
  if (!late.empty()) {
    Fail(absl::DeadlineExceededError(
        absl::StrCat(MemberNames(late), late.size() == 1 ? " has" : " have",
                     " been missing for ", cluster_.join_timeout_s(),
                     " s (cluster.join_timeout_s)")));
  }
}

// State.

bool Coordinator::ended() const {
  return state_ == v1::JOB_STATE_DONE || state_ == v1::JOB_STATE_STOPPED ||
         state_ == v1::JOB_STATE_FAILED;
}

void Coordinator::SetState(v1::JobState state) {
  state_ = state;
  state_since_ms_ = clock_.NowMs();
  ++change_count_;
  PersistStatus();
  // The end is told by whoever waits for it.
  if (ended() || state == v1::JOB_STATE_FINISHING) {
    return;
  }
  std::string sentence = DescribeState();
  if (sentence.empty()) {
    return;
  }
  if (state == v1::JOB_STATE_INITIALIZING || state == v1::JOB_STATE_RUNNING) {
    LogJoin(std::move(sentence));
  } else {
    Log(std::move(sentence));
  }
}

void Coordinator::LogJoin(std::string sentence) {
  if (options_.log_joins) {
    Log(std::move(sentence));
  }
}

void Coordinator::Log(std::string sentence) {
  control_executor_->Post(
      [log = &log_, sentence = std::move(sentence)] { (*log)(sentence); });
}

void Coordinator::Persist(absl::string_view key, std::string bytes) {
  io_executor_->Post([this, key, bytes = std::move(bytes)] {
    const absl::Status status = metadata_.Put(key, bytes).status();
    Enter([&] {
      mu_.AssertHeld();
      OnPersisted(status);
    });
  });
}

// Told once, not every few seconds.
void Coordinator::OnPersisted(const absl::Status& status) {
  if (!status.ok() && !persist_failed_) {
    Log(absl::StrCat("the coordinator's state was not saved: ",
                     status.message()));
  }
  persist_failed_ = !status.ok();
}

}  // namespace selari
