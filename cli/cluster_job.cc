#include "cli/cluster_job.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "cli/local_coordinator_client.h"
#include "common/clock.h"
#include "common/file_env.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/coordinator/coordinator.h"

namespace selari {
namespace {

// How often the parent looks at its children.
constexpr int64_t kPollMs = 50;
// A child that fails tells the coordinator why before it exits; so long may
// the coordinator take to end the job with that reason.
constexpr int64_t kFailureGraceMs = 2000;
// Children end by themselves when the job has ended, but one that had not
// joined yet hears nothing of it: then it is told to stop, and then killed.
constexpr int64_t kChildEndMs = 3000;
constexpr int64_t kChildStopMs = 10000;
// Exit codes above are signals.
constexpr int kSignalBase = 128;
// Times that a child is started again while the job gets no further.
constexpr int kRestartsMax = 3;

std::string EndText(int code) {
  if (code > kSignalBase) {
    return absl::StrCat("was ended by signal ", code - kSignalBase, " (",
                        strsignal(code - kSignalBase), ")");
  }
  return absl::StrCat("ended with exit code ", code);
}

absl::Status EndStatus(const Subprocess& child, int code) {
  const std::string line = child.LastLogLine();
  const std::string text = absl::StrCat(
      child.name(), " ", EndText(code), "; its log ", child.log_path(),
      line.empty() ? " is empty" : absl::StrCat(" ends with: ", line));
  // One that a signal ended is lost; any other one failed.
  return code > kSignalBase ? absl::UnavailableError(text)
                            : absl::AbortedError(text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClusterJob>> ClusterJob::Start(
    const ClusterOptions& options) {
  std::unique_ptr<ClusterJob> job(new ClusterJob(options));
  SELARI_RETURN_IF_ERROR(
      PosixFileEnv().CreateDirs(JoinPath(options.output_dir, "logs")));
  CoordinatorProcessOptions coordinator;
  coordinator.job = options.job;
  coordinator.output_dir = options.output_dir;
  coordinator.resume_checkpoint = options.resume_checkpoint;
  coordinator.log = options.log;
  SELARI_ASSIGN_OR_RETURN(job->process_,
                          CoordinatorProcess::Start(coordinator));
  job->client_ = MakeLocalCoordinatorClient(job->process_->coordinator());
  const v1::Cluster& cluster = options.job.job().cluster();
  const std::string& address = job->process_->address();
  for (int32_t i = 0; i < cluster.servers(); ++i) {
    SELARI_RETURN_IF_ERROR(job->AddChild(
        v1::MEMBER_KIND_SERVER, i,
        {"server", "--coordinator", address, "--id", absl::StrCat(i)}));
  }
  for (int32_t i = 0; i < cluster.workers(); ++i) {
    SELARI_RETURN_IF_ERROR(
        job->AddChild(v1::MEMBER_KIND_WORKER, i,
                      {"worker", "--coordinator", address, "--id",
                       absl::StrCat(i), "--data-folder", options.base_dir,
                       "--threads", absl::StrCat(options.worker_threads)}));
  }
  return job;
}

ClusterJob::~ClusterJob() = default;

absl::Status ClusterJob::AddChild(v1::MemberKind kind, int32_t id,
                                  std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), options_.program);
  children_.push_back({kind, id, std::move(arguments), nullptr});
  return StartChild(&children_.back());
}

absl::Status ClusterJob::StartChild(Child* child) {
  const std::string name = absl::StrCat(
      child->kind == v1::MEMBER_KIND_SERVER ? "server-" : "worker-", child->id);
  SELARI_ASSIGN_OR_RETURN(
      child->process,
      Subprocess::Start(
          name, child->arguments,
          JoinPath(options_.output_dir, absl::StrCat("logs/", name, ".log"))));
  return absl::OkStatus();
}

absl::Status ClusterJob::CheckChildren() {
  for (const Child& child : children_) {
    const std::optional<int> code = child.process->Poll();
    if (code.has_value() && *code != 0) {
      return EndStatus(*child.process, *code);
    }
  }
  return absl::OkStatus();
}

absl::Status ClusterJob::ReviveChildren() {
  for (Child& child : children_) {
    const std::optional<int> code = child.process->Poll();
    if (code.has_value() && *code != 0) {
      SELARI_RETURN_IF_ERROR(Revive(&child, *code));
    }
  }
  return absl::OkStatus();
}

absl::Status ClusterJob::Revive(Child* child, int exit_code) {
  if (exit_code <= kSignalBase) {
    return EndStatus(*child->process, exit_code);
  }
  Coordinator* const coordinator = process_->coordinator();
  const int64_t step = coordinator->GetJobStatus().step();
  child->restarts = step > child->restart_step ? 1 : child->restarts + 1;
  child->restart_step = std::max(step, child->restart_step);
  if (child->restarts > kRestartsMax) {
    return absl::UnavailableError(absl::StrCat(
        child->process->name(), " ", EndText(exit_code), ", for the ",
        child->restarts, "th time since the job got to step ",
        child->restart_step, "; a checkpoint more often, ",
        "checkpointing.every_steps, or DURABILITY_JOURNALED would let it get "
        "further; the log is ",
        child->process->log_path()));
  }
  coordinator->NoteDeath(child->kind, child->id, EndText(exit_code));
  const v1::JobState state = coordinator->state();
  if (state == v1::JOB_STATE_FAILED) {
    return EndStatus(*child->process, exit_code);
  }
  if (state == v1::JOB_STATE_STOPPED || state == v1::JOB_STATE_DONE) {
    return absl::OkStatus();  // all is saved, so it is not missed
  }
  return StartChild(child);
}

absl::Status ClusterJob::WaitForChildren() {
  const SystemClock clock;
  const auto wait_until = [this, &clock](int64_t deadline_ms) {
    bool all = true;
    for (const Child& child : children_) {
      const int64_t left_ms = deadline_ms - clock.NowMs();
      all &= child.process->WaitFor(std::max<int64_t>(0, left_ms)).has_value();
    }
    return all;
  };
  if (!wait_until(clock.NowMs() + kChildEndMs)) {
    for (const Child& child : children_) {
      child.process->Terminate();
    }
    wait_until(clock.NowMs() + kChildStopMs);
  }
  for (const Child& child : children_) {
    if (!child.process->Poll().has_value() && options_.log) {
      options_.log(absl::StrCat(child.process->name(), " did not end within ",
                                kChildEndMs + kChildStopMs,
                                " ms and is killed"));
    }
  }
  return CheckChildren();
}

absl::Status ClusterJob::Wait(const StopToken* stop) {
  absl::Status result;
  StopToken ended;
  std::thread waiter([this, stop, &result, &ended] {
    result = process_->Wait(stop);
    ended.RequestStop();
  });
  absl::Status child;
  while (!ended.WaitForMs(kPollMs)) {
    child = ReviveChildren();
    if (!child.ok()) {
      if (!ended.WaitForMs(kFailureGraceMs)) {
        process_->coordinator()->FailJob(child);
      }
      break;
    }
  }
  waiter.join();
  absl::Status exits = WaitForChildren();
  if (!result.ok()) {
    return result;
  }
  if (absl::IsUnavailable(exits)) {
    if (options_.log) {
      options_.log(absl::StrCat(exits.message(), "; all is saved"));
    }
    return absl::OkStatus();
  }
  return exits;
}

}  // namespace selari
