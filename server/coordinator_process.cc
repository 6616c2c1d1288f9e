#include "server/coordinator_process.h"

#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/executor.h"
#include "common/incarnation.h"
#include "common/log_line.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/coordinator_stores.h"
#include "server/coordinator/resume.h"
#include "server/rpc/coordinator_service.h"
#include "server/rpc/listen_probe.h"
#include "server/rpc/rpc_server.h"
#include "server/shard_control/grpc_shard_control.h"

namespace selari {
namespace {

constexpr int64_t kTickMs = 100;
constexpr int64_t kPollMs = 20;

class CoordinatorProcessImpl final : public CoordinatorProcess {
 public:
  explicit CoordinatorProcessImpl(const CoordinatorProcessOptions& options)
      : options_(options), log_(LogOrStandardError(options.log)) {}

  ~CoordinatorProcessImpl() override {
    if (coordinator_ != nullptr) {
      coordinator_->FailJob(absl::CancelledError("the coordinator ended"));
    }
    Shutdown();
  }

  absl::Status StartAll();

  const std::string& address() const override { return address_; }
  Coordinator* coordinator() override { return coordinator_.get(); }
  absl::Status Wait(const StopToken* stop) override;

 private:
  absl::Status MakeCoordinator();
  void WaitForMembers();
  void Shutdown();
  bool ended() const {
    const v1::JobState state = coordinator_->state();
    return state == v1::JOB_STATE_DONE || state == v1::JOB_STATE_STOPPED ||
           state == v1::JOB_STATE_FAILED;
  }

  const CoordinatorProcessOptions options_;
  const LogSink log_;
  const SystemClock clock_;
  PosixFileEnv file_env_;
  std::string address_;
  CoordinatorStores stores_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<CoordinatorService> service_;
  std::unique_ptr<RpcServer> rpc_server_;
  StopToken end_;
  std::thread ticker_;
};

absl::Status CoordinatorProcessImpl::MakeCoordinator() {
  Coordinator::Options options;
  options.job = options_.job;
  if (options_.job.job().checkpointing().durability() ==
      v1::DURABILITY_JOURNALED) {
    options.journal_directory = JournalsDir(options_.output_dir);
  }
  if (!options_.resume_checkpoint.empty()) {
    SELARI_ASSIGN_OR_RETURN(
        options.resume,
        CheckResume(file_env_, options_.job, options_.resume_checkpoint, log_));
  }
  Coordinator::Environment environment;
  environment.clock = &clock_;
  environment.metadata = stores_.metadata.get();
  environment.checkpoints = stores_.checkpoints.get();
  environment.make_control = [](const v1::ServerEntry& server) {
    return MakeGrpcShardControl(server.address());
  };
  environment.control_executor = std::make_unique<ThreadExecutor>();
  environment.io_executor = std::make_unique<ThreadExecutor>();
  environment.log = log_;
  SELARI_ASSIGN_OR_RETURN(
      coordinator_,
      Coordinator::Create(std::move(options), std::move(environment)));
  return absl::OkStatus();
}

absl::Status CoordinatorProcessImpl::StartAll() {
  // A port in use is the user's to mend: said before anything is touched.
  SELARI_RETURN_IF_ERROR(ProbeListen(options_.listen_address));
  SELARI_ASSIGN_OR_RETURN(
      stores_, CoordinatorStores::Open(file_env_, clock_,
                                       {options_.output_dir, NewIncarnation(),
                                        options_.program_version, log_}));
  SELARI_RETURN_IF_ERROR(MakeCoordinator());
  // Orders what was made before the calls of gRPC's threads in a way that
  // ThreadSanitizer sees; gRPC's own hand-over is hidden from it.
  coordinator_->Tick();
  service_ = std::make_unique<CoordinatorService>(coordinator_.get());
  RpcServer::Options rpc;
  rpc.address = options_.listen_address;
  rpc.health_names = {"selari.v1.CoordinatorService"};
  SELARI_ASSIGN_OR_RETURN(rpc_server_, RpcServer::Start(rpc, {service_.get()}));
  rpc_server_->SetServing(true);
  const std::string& listen = options_.listen_address;
  address_ = absl::StrCat(listen.substr(0, listen.rfind(':')), ":",
                          rpc_server_->port());
  ticker_ = std::thread([this] {
    while (!end_.WaitForMs(kTickMs)) {
      coordinator_->Tick();
      service_->Tick();
    }
  });
  return absl::OkStatus();
}

absl::Status CoordinatorProcessImpl::Wait(const StopToken* stop) {
  bool stop_asked_for = false;
  while (!ended()) {
    if (!stop_asked_for && stop != nullptr && stop->stop_requested()) {
      stop_asked_for = true;
      log_("stops the job and saves a checkpoint");
      coordinator_->StopJob([](const absl::StatusOr<v1::StopJobResponse>&) {});
    }
    end_.WaitForMs(kPollMs);
  }
  WaitForMembers();
  Shutdown();
  return coordinator_->result();
}

// Without their coordinator, members would wait for it.
void CoordinatorProcessImpl::WaitForMembers() {
  const int64_t ended_ms = clock_.NowMs();
  while (true) {
    const int64_t elapsed_ms = clock_.NowMs() - ended_ms;
    const bool all_know = coordinator_->members_know_the_end() ||
                          elapsed_ms >= options_.end_timeout_ms;
    const bool all_came = coordinator_->all_members_came() ||
                          elapsed_ms >= options_.late_member_timeout_ms;
    if (all_know && all_came) {
      return;
    }
    end_.WaitForMs(kPollMs);
  }
}

// The coordinator stays, for those who ask it in this process.
void CoordinatorProcessImpl::Shutdown() {
  if (ticker_.joinable()) {
    // Watches see the end before they are ended.
    service_->Tick();
    end_.RequestStop();
    ticker_.join();
    rpc_server_->SetServing(false);
    service_->Drain(options_.end_timeout_ms);
    rpc_server_->Shutdown(options_.end_timeout_ms);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorProcess>> CoordinatorProcess::Start(
    const CoordinatorProcessOptions& options) {
  auto process = std::make_unique<CoordinatorProcessImpl>(options);
  SELARI_RETURN_IF_ERROR(process->StartAll());
  return std::unique_ptr<CoordinatorProcess>(std::move(process));
}

absl::Status RunCoordinator(const CoordinatorProcessOptions& options,
                            const StopToken* stop) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<CoordinatorProcess> process,
                          CoordinatorProcess::Start(options));
  return process->Wait(stop);
}

}  // namespace selari
