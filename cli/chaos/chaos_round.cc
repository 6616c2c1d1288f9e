#include "cli/chaos/chaos_round.h"

#include <signal.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/chaos/members.h"
#include "cli/chaos/next_step_timer.h"
#include "common/coordinator_client.h"
#include "common/grpc_coordinator_client.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/checkpoint_path.h"

namespace selari {
namespace {

constexpr int64_t kTickMs = 20;
// A status is some kilobytes: not every tick.
constexpr double kStatusSeconds = 0.05;
constexpr double kProgressSeconds = 10;
constexpr int64_t kStatusTimeoutMs = 2'000;
// After a stop, until the run is killed.
constexpr double kSaveSeconds = 30;

class Round {
 public:
  explicit Round(const RoundOptions& options)
      : options_(options), job_(options.job) {}

  RoundResult Run();

 private:
  double Now() const { return options_.seconds(); }
  absl::Status StartTrain();
  // One look at everything. True when the run is over, with the result's status
  // set.
  absl::StatusOr<bool> Tick();
  absl::StatusOr<bool> OnExit(int code);
  void AskForStep();
  void Disturb();
  bool Do(const Fault& fault);
  void EndPauses();

  const RoundOptions& options_;
  JobOptions job_;
  RoundResult result_;

  std::unique_ptr<TrainProcess> train_;
  int lives_ = 0;
  bool coordinator_killed_ = false;
  std::unique_ptr<CoordinatorClient> coordinator_;
  double asked_seconds_ = 0;
  double shown_seconds_ = 0;  // progress
  int64_t step_ = -1;
  double advanced_seconds_ = 0;  // when step_ changed last
  NextStepTimer timer_;

  struct Pause {
    MemberProcess member;
    pid_t parent;
    double end_seconds;
  };
  std::vector<Pause> pauses_;
};

absl::Status Round::StartTrain() {
  ++lives_;
  coordinator_.reset();
  coordinator_killed_ = false;
  const std::string log =
      absl::StrCat(options_.log_stem,
                   lives_ == 1 ? "" : absl::StrCat("-", lives_), ".jsonl");
  SELARI_ASSIGN_OR_RETURN(train_,
                          TrainProcess::Start(options_.program, job_, log));
  advanced_seconds_ = Now();
  return absl::OkStatus();
}

// After the coordinator was killed, as whoever runs it would.
absl::Status PrepareToResume(JobOptions* job) {
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                          ListCheckpoints(env, CheckpointsDir(job->output)));
  job->resume = !checkpoints.empty();
  std::error_code error;
  if (!job->resume) {
    std::filesystem::remove_all(job->output, error);
  }
  return error ? absl::InternalError(absl::StrCat("cannot remove ", job->output,
                                                  ": ", error.message()))
               : absl::OkStatus();
}

absl::StatusOr<bool> Round::OnExit(int code) {
  if (coordinator_killed_ && code == 128 + SIGKILL) {
    SELARI_RETURN_IF_ERROR(PrepareToResume(&job_));
    SELARI_RETURN_IF_ERROR(StartTrain());
    return false;
  }
  if (train_->result().has_value()) {
    result_.train = *train_->result();
  }
  if (code != 0 || result_.train.state != "done") {
    return absl::UnknownError(absl::StrCat("train ended with exit code ", code,
                                           ": ", train_->LastWords()));
  }
  return true;
}

void Round::AskForStep() {
  if (train_->coordinator().empty() || coordinator_killed_ ||
      Now() < asked_seconds_ + kStatusSeconds) {
    return;
  }
  asked_seconds_ = Now();
  if (coordinator_ == nullptr) {
    coordinator_ = MakeGrpcCoordinatorClient(
        {train_->coordinator(), kStatusTimeoutMs, kStatusTimeoutMs});
  }
  const absl::StatusOr<v1::JobStatus> status = coordinator_->GetJobStatus();
  if (!status.ok()) {
    return;  // it has just ended, or not begun
  }
  if (status->step() != step_) {
    step_ = status->step();
    advanced_seconds_ = Now();
  }
  if (Now() >= shown_seconds_ + kProgressSeconds) {
    shown_seconds_ = Now();
    options_.view->OnProgress(step_, status->total_steps(), Now());
  }
  for (const double seconds : timer_.OnStep(Now(), step_)) {
    result_.next_step_seconds.push_back(seconds);
    options_.view->OnNextStep(seconds);
  }
}

bool Round::Do(const Fault& fault) {
  FaultEvent event{fault.kind, "the coordinator", Now(), fault.pause_seconds,
                   step_};
  if (fault.kind == FaultKind::kKillCoordinator) {
    coordinator_killed_ = true;
    // The exit code tells whether it had ended by itself.
    kill(train_->pid(), SIGKILL);
  } else {
    std::vector<MemberProcess> members;
    for (MemberProcess& member : MembersOf(train_->pid())) {
      if (member.is_server == IsOfServer(fault.kind)) {
        members.push_back(member);
      }
    }
    if (members.empty()) {
      return false;
    }
    const MemberProcess& member = members[fault.choice % members.size()];
    event.member = member.name();
    if (!SignalMember(member, train_->pid(),
                      IsKill(fault.kind) ? SIGKILL : SIGSTOP)) {
      return false;
    }
    if (!IsKill(fault.kind)) {
      pauses_.push_back({member, train_->pid(), Now() + fault.pause_seconds});
    }
  }
  result_.faults.push_back(fault.kind);
  timer_.OnFault(Now());
  options_.view->OnFault(event);
  return true;
}

void Round::Disturb() {
  if (options_.plan == nullptr || coordinator_killed_ ||
      Now() >= options_.end_seconds) {
    return;
  }
  // One whose victim is not there is tried again in the next tick.
  if (options_.plan->next().at_seconds <= Now() && Do(options_.plan->next())) {
    options_.plan->Advance(Now());
  }
}

void Round::EndPauses() {
  for (size_t i = 0; i < pauses_.size();) {
    if (Now() < pauses_[i].end_seconds) {
      ++i;
      continue;
    }
    SignalMember(pauses_[i].member, pauses_[i].parent, SIGCONT);
    pauses_.erase(pauses_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

absl::StatusOr<bool> Round::Tick() {
  train_->Poll();
  if (train_->exit_code().has_value()) {
    return OnExit(*train_->exit_code());
  }
  AskForStep();
  EndPauses();
  Disturb();
  if (Now() > advanced_seconds_ + options_.hang_seconds) {
    return absl::DeadlineExceededError(
        absl::StrCat("the job hangs: it is at step ", step_, " since ",
                     options_.hang_seconds, " s"));
  }
  return false;
}

RoundResult Round::Run() {
  shown_seconds_ = Now();
  result_.status = StartTrain();
  while (result_.status.ok()) {
    const absl::StatusOr<bool> over = Tick();
    if (!over.ok() || *over) {
      result_.status = over.status();
      break;
    }
    if (options_.stop->WaitForMs(kTickMs)) {
      result_.status = absl::CancelledError("stopped");
      train_->Terminate();
      const double end = Now() + kSaveSeconds;
      const StopToken never;
      while (!train_->exit_code().has_value() && Now() < end) {
        never.WaitForMs(kTickMs);
        EndPauses();
        train_->Poll();
      }
    }
  }
  return std::move(result_);
}

}  // namespace

RoundResult RunRound(const RoundOptions& options) {
  return Round(options).Run();
}

}  // namespace selari
