#include "server/server_process.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/executor.h"
#include "common/grpc_coordinator_client.h"
#include "common/human.h"
#include "common/incarnation.h"
#include "common/isa.h"
#include "common/job_stopper.h"
#include "common/lease_keeper.h"
#include "common/log_line.h"
#include "common/mutex.h"
#include "common/posix_file_env.h"
#include "common/retry.h"
#include "common/status.h"
#include "server/rpc/listen_probe.h"
#include "server/rpc/parameter_service.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/shard_service.h"
#include "server/shard/shard_host.h"
#include "server/shard_control/local_shard_control.h"

namespace selari {
namespace {

constexpr int64_t kTickMs = 100;
constexpr int64_t kSilenceLogIntervalMs = 10'000;

// "host:port" with the host of `address`, or this machine's name when that
// means "any".
std::string WithPort(const std::string& address, int port) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host == "0.0.0.0" || host == "[::]" || host == "::") {
    char name[256] = "localhost";
    ::gethostname(name, sizeof(name) - 1);
    host = name;
  }
  return absl::StrCat(host, ":", port);
}

// 0: as many as fit the machine.
int32_t ThreadCount(int32_t asked_for, const v1::Job& job) {
  return asked_for > 0 ? asked_for : job.cluster().server_threads();
}

// One life of a server.
class ServerRun {
 public:
  explicit ServerRun(const ServerOptions& options)
      : options_(options),
        log_(LogOrStandardError(options.log)),
        incarnation_(NewIncarnation()) {
    GrpcCoordinatorClientOptions client;
    client.address = options.coordinator_address;
    client.save_timeout_ms = options.stop_timeout_ms;
    client_ = MakeGrpcCoordinatorClient(client);
  }

  absl::Status Run();

 private:
  RetryOptions Retry() const;
  absl::Status Listen(const v1::ResolvedJob& job);
  absl::Status Register();
  bool OnRenewal(const absl::StatusOr<v1::RenewLeaseResponse>& response,
                 int64_t silent_ms);
  std::string WhyItFailed();
  void ServeUntilTheEnd();
  void Shutdown();
  // Ends the server, with the first status that is given.
  void End(const absl::Status& status);
  // The same as the job ends; `message` says why it failed, if it is known.
  void EndWithJob(v1::JobState state, absl::string_view message);
  absl::Status result() const;

  const ServerOptions options_;
  const LogSink log_;
  const uint64_t incarnation_;
  const SystemClock clock_;
  const StopToken never_;
  PosixFileEnv file_env_;
  std::unique_ptr<CoordinatorClient> client_;
  std::string address_;
  v1::RegisterServerRequest registration_;
  int32_t lease_ms_ = 0;

  std::unique_ptr<ShardHost> host_;
  std::unique_ptr<LocalShardControl> control_;
  std::unique_ptr<ParameterService> parameter_service_;
  std::unique_ptr<ShardService> shard_service_;
  std::unique_ptr<RpcServer> rpc_server_;

  StopToken end_;
  mutable Mutex mu_;
  absl::Status result_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  // Used by the lease keeper's thread only.
  int64_t silence_logged_ms_ = 0;
};

RetryOptions ServerRun::Retry() const {
  RetryOptions retry;
  retry.peer =
      absl::StrCat("the coordinator at ", options_.coordinator_address);
  retry.timeout_ms = options_.coordinator_timeout_ms;
  retry.clock = &clock_;
  retry.wait_ms = [this](int64_t ms) {
    return (options_.stop != nullptr ? options_.stop : &never_)->WaitForMs(ms);
  };
  retry.log = log_;
  return retry;
}

absl::Status ServerRun::Listen(const v1::ResolvedJob& job) {
  host_ = ShardHost::Create(
      ShardHost::ServerOptions(ThreadCount(options_.threads, job.job())));

  LocalShardControl::Options control;
  control.incarnation = incarnation_;
  LocalShardControl::Environment environment;
  environment.host = host_.get();
  environment.file_env = &file_env_;
  environment.clock = &clock_;
  environment.control_executor = std::make_unique<ThreadExecutor>();
  environment.disk_executor = std::make_unique<ThreadExecutor>();
  environment.on_ready = [this] {
    rpc_server_->SetServing(true);
    log_(absl::StrCat(
        "server at ", address_, " serves ",
        CountOf(static_cast<int64_t>(host_->shards().size()), "shard")));
  };
  environment.on_end = [this](const v1::EndJobRequest& how) {
    EndWithJob(how.state(), how.message());
  };
  environment.log = [this](const std::string& sentence) {
    log_(absl::StrCat("server at ", address_, " ", sentence));
  };
  control_ =
      std::make_unique<LocalShardControl>(control, std::move(environment));

  ParameterService::Options parameters;
  parameters.server_incarnation = incarnation_;
  parameter_service_ =
      std::make_unique<ParameterService>(host_.get(), parameters);
  shard_service_ = std::make_unique<ShardService>(control_.get());
  RpcServer::Options rpc;
  rpc.address = options_.listen_address;
  rpc.health_names = {"selari.v1.ParameterService", "selari.v1.ShardService"};
  SELARI_ASSIGN_OR_RETURN(
      rpc_server_,
      RpcServer::Start(rpc, {parameter_service_.get(), shard_service_.get()}));
  address_ = options_.advertise_address.empty()
                 ? WithPort(options_.listen_address, rpc_server_->port())
                 : options_.advertise_address;
  // Passes all this to the control's thread in a way that ThreadSanitizer sees;
  // gRPC's own hand-over is hidden from it.
  control_->Tick();
  if (options_.on_listening != nullptr) {
    options_.on_listening(address_);
  }
  return absl::OkStatus();
}

absl::Status ServerRun::Register() {
  registration_.set_server_id(options_.server_id);
  registration_.set_incarnation(incarnation_);
  registration_.set_address(address_);
  registration_.set_instruction_set(
      static_cast<v1::InstructionSet>(DetectIsaLevel()));
  SELARI_ASSIGN_OR_RETURN(
      const v1::RegisterServerResponse response,
      CallUntilAnswered<v1::RegisterServerResponse>(
          Retry(), [this] { return client_->RegisterServer(registration_); }));
  registration_.set_server_id(response.server_id());
  lease_ms_ = response.lease_ms();
  log_(absl::StrCat("server ", response.server_id(), " joined job ",
                    response.job().job_id(), " at ", address_));
  return absl::OkStatus();
}

// As the coordinator says; empty when it does not.
std::string ServerRun::WhyItFailed() {
  const absl::StatusOr<v1::JobStatus> job = client_->GetJobStatus();
  return job.ok() ? job->message() : "";
}

bool ServerRun::OnRenewal(
    const absl::StatusOr<v1::RenewLeaseResponse>& response, int64_t silent_ms) {
  if (response.ok()) {
    const v1::JobState state = response->state();
    if (state == v1::JOB_STATE_DONE || state == v1::JOB_STATE_STOPPED ||
        state == v1::JOB_STATE_FAILED) {
      EndWithJob(state, state == v1::JOB_STATE_FAILED ? WhyItFailed() : "");
      return false;
    }
    return true;
  }
  if (absl::IsNotFound(response.status())) {
    const absl::Status again = client_->RegisterServer(registration_).status();
    if (absl::IsAlreadyExists(again) || absl::IsFailedPrecondition(again)) {
      End(again);
      return false;
    }
    return true;
  }
  if (silent_ms >= options_.coordinator_timeout_ms) {
    End(absl::DeadlineExceededError(
        absl::StrCat("the coordinator at ", options_.coordinator_address,
                     " did not answer for ", silent_ms / 1000,
                     " s: ", response.status().message())));
    return false;
  }
  if (clock_.NowMs() - silence_logged_ms_ >= kSilenceLogIntervalMs) {
    silence_logged_ms_ = clock_.NowMs();
    log_(absl::StrCat("the coordinator at ", options_.coordinator_address,
                      " has not answered for ", silent_ms / 1000,
                      " s; the server goes on serving, and gives up in ",
                      (options_.coordinator_timeout_ms - silent_ms) / 1000,
                      " s"));
  }
  return true;
}

void ServerRun::ServeUntilTheEnd() {
  LeaseKeeper::Options lease;
  lease.client = client_.get();
  lease.clock = &clock_;
  lease.request.set_kind(v1::MEMBER_KIND_SERVER);
  lease.request.set_member_id(registration_.server_id());
  lease.request.set_incarnation(incarnation_);
  lease.interval_ms = LeaseKeeper::IntervalForLease(lease_ms_);
  lease.on_renewal = [this](const auto& response, int64_t silent_ms) {
    return OnRenewal(response, silent_ms);
  };
  const LeaseKeeper keeper(lease);

  JobStopper::Options stopping;
  stopping.client = client_.get();
  stopping.stop = options_.stop;
  stopping.log = log_;
  stopping.on_failed = [this](const absl::Status& status) { End(status); };
  const JobStopper stopper(stopping);

  while (!end_.WaitForMs(kTickMs)) {
    control_->Tick();
  }
}

// Balancers look away, open streams end, and only then the shards go.
void ServerRun::Shutdown() {
  if (rpc_server_ != nullptr) {
    rpc_server_->SetServing(false);
    control_->Close();
    parameter_service_->Drain(options_.drain_timeout_ms);
    rpc_server_->Shutdown(options_.drain_timeout_ms);
  }
  rpc_server_.reset();
  control_.reset();
  host_.reset();
}

void ServerRun::End(const absl::Status& status) {
  {
    MutexLock lock(&mu_);
    if (!ended_) {
      ended_ = true;
      result_ = status;
    }
  }
  end_.RequestStop();
}

void ServerRun::EndWithJob(v1::JobState state, absl::string_view message) {
  if (state == v1::JOB_STATE_FAILED) {
    End(absl::AbortedError(absl::StrCat("server ", registration_.server_id(),
                                        ": the job failed",
                                        message.empty() ? "" : ": ", message)));
    return;
  }
  if (!end_.stop_requested()) {
    log_(absl::StrCat(
        "server ", registration_.server_id(), " ended: the job ",
        state == v1::JOB_STATE_STOPPED ? "was stopped" : "is done"));
  }
  End(absl::OkStatus());
}

absl::Status ServerRun::result() const {
  MutexLock lock(&mu_);
  return result_;
}

absl::Status ServerRun::Run() {
  // Before the coordinator is asked for the number of threads, as a port in
  // use is the user's to mend at once.
  SELARI_RETURN_IF_ERROR(CheckHostPort(options_.listen_address));
  SELARI_RETURN_IF_ERROR(ProbeListen(options_.listen_address));
  const absl::StatusOr<v1::GetJobResponse> job =
      CallUntilAnswered<v1::GetJobResponse>(
          Retry(), [this] { return client_->GetJob(); });
  absl::Status status = job.status();
  if (status.ok()) {
    status = Listen(job->job());
  }
  if (status.ok()) {
    registration_.set_job_id(job->job().job_id());
    status = Register();
  }
  if (status.ok()) {
    ServeUntilTheEnd();
    status = result();
  }
  Shutdown();
  return absl::IsCancelled(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::Status RunServer(const ServerOptions& options) {
  return ServerRun(options).Run();
}

}  // namespace selari
