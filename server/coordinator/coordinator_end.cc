// How a job is saved and ends: the part of Coordinator behind SaveCheckpoint,
// StopJob and the last report of the workers.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/job_reduction.h"
#include "common/status.h"
#include "server/coordinator/coordinator.h"

namespace selari {
namespace {

// The end of a sentence on why nothing can be kept.
constexpr absl::string_view kNothingSaved =
    "; nothing was saved before, see checkpointing.every_steps";

absl::StatusOr<v1::SaveCheckpointResponse> SaveResponse(
    const absl::StatusOr<PublishedCheckpoint>& saved) {
  SELARI_RETURN_IF_ERROR(saved.status());
  v1::SaveCheckpointResponse response;
  response.set_path(saved->path);
  response.set_step(saved->step);
  response.set_state_digest(saved->state_digest);
  return response;
}

absl::StatusOr<v1::StopJobResponse> StopResponse(
    const absl::StatusOr<PublishedCheckpoint>& saved) {
  SELARI_RETURN_IF_ERROR(saved.status());
  v1::StopJobResponse response;
  response.set_path(saved->path);
  response.set_step(saved->step);
  return response;
}

}  // namespace

void Coordinator::Finish() {
  SetState(v1::JOB_STATE_FINISHING);
  orchestrator_.SaveAndStop(
      [this](const absl::StatusOr<PublishedCheckpoint>& published) {
        mu_.AssertHeld();
        OnLastCheckpoint(v1::JOB_STATE_DONE, published);
      });
}

void Coordinator::OnLastCheckpoint(
    v1::JobState end_state,
    const absl::StatusOr<PublishedCheckpoint>& published) {
  // Not when the job went back to a checkpoint meanwhile.
  if (state_ != v1::JOB_STATE_FINISHING && state_ != v1::JOB_STATE_STOPPING) {
    return;
  }
  if (!published.ok()) {
    Fail(published.status());
    return;
  }
  newest_ = *published;
  const int64_t total_steps = options_.job.total_steps();
  if (end_state == v1::JOB_STATE_DONE && total_steps > 0 &&
      published->step != total_steps) {
    Fail(absl::InternalError(absl::StrCat("the workers finished ", total_steps,
                                          " steps, but the weights have ",
                                          published->step, " updates")));
    return;
  }
  progress_.EndAt(published->step, IsSync(options_.job.job()));
  SetState(end_state);
  EndServers();
  AnswerStops(published);
}

const Member* Coordinator::LostWhileStopping() const {
  if (state_ == v1::JOB_STATE_STOPPING && IsSync(options_.job.job())) {
    for (const Member* const worker :
         membership_.Missing(v1::MEMBER_KIND_WORKER)) {
      if (worker->ever_joined()) {
        return worker;
      }
    }
  }
  return nullptr;
}

// A cut that needs no gradient of the lost worker is there long before a lease
// is over. What was trained since the newest checkpoint can be trained again.
void Coordinator::EndStopInVain() {
  const Member* const lost = LostWhileStopping();
  if (lost == nullptr ||
      clock_.NowMs() - std::max(lost->missing_since_ms, state_since_ms_) <
          cluster_.lease_ms()) {
    return;
  }
  const std::string what =
      absl::StrCat(MemberName(lost->kind, lost->id),
                   " was lost in the middle of a step, which cannot be saved");
  if (newest_.path.empty()) {
    Fail(absl::UnavailableError(absl::StrCat(what, kNothingSaved)));
    return;
  }
  Log(absl::StrCat(what, "; the newest checkpoint is of step ", newest_.step));
  progress_.EndAt(newest_.step, /*all_workers_alike=*/true);
  SetState(v1::JOB_STATE_STOPPED);
  orchestrator_.Abort(absl::UnavailableError(what));
  EndServers();
  AnswerStops(newest_);
}

void Coordinator::SaveCheckpoint(Done<v1::SaveCheckpointResponse> done) {
  MutexLock lock(&mu_);
  const auto answer = [this, done = std::move(done)](
                          const absl::StatusOr<PublishedCheckpoint>& saved) {
    control_executor_->Post(
        [done, response = SaveResponse(saved)] { done(response); });
  };
  switch (state_) {
    case v1::JOB_STATE_RUNNING:
    case v1::JOB_STATE_STOPPING:
    case v1::JOB_STATE_FINISHING:
      orchestrator_.Save(answer);
      return;
    case v1::JOB_STATE_JOINING:
    case v1::JOB_STATE_INITIALIZING:
      answer(absl::FailedPreconditionError(absl::StrCat(
          "nothing to save yet: the coordinator ", DescribeWait())));
      return;
    default:
      answer(absl::FailedPreconditionError(
          absl::StrCat("the job has ended; its newest checkpoint is ",
                       newest_.path.empty() ? "none" : newest_.path)));
      return;
  }
}

void Coordinator::StopJob(Done<v1::StopJobResponse> done) {
  MutexLock lock(&mu_);
  const auto answer = [this, done = std::move(done)](
                          const absl::StatusOr<PublishedCheckpoint>& saved) {
    control_executor_->Post(
        [done, response = StopResponse(saved)] { done(response); });
  };
  switch (state_) {
    case v1::JOB_STATE_FAILED:
      answer(JobFailed());
      return;
    case v1::JOB_STATE_DONE:
    case v1::JOB_STATE_STOPPED:
      answer(newest_);
      return;
    case v1::JOB_STATE_RUNNING:
      stops_.push_back(answer);
      Stop();
      return;
    case v1::JOB_STATE_STOPPING:
    case v1::JOB_STATE_FINISHING:
      stops_.push_back(answer);
      return;
    default:
      if (recovering_) {
        stops_.push_back(answer);
        return;
      }
      // Until the first map's shards are there, nothing was trained.
      if (newest_.path.empty() &&
          (shard_map_.version() > 1 ||
           (shard_map_.version() == 1 && state_ == v1::JOB_STATE_JOINING))) {
        Fail(absl::UnavailableError(absl::StrCat(
            "stopped while the coordinator ", DescribeWait(), kNothingSaved)));
        answer(JobFailed());
        return;
      }
      // The newest checkpoint, if any, stands.
      SetState(v1::JOB_STATE_STOPPED);
      EndServers();
      answer(newest_);
      return;
  }
}

// REQUIRES: RUNNING.
void Coordinator::Stop() {
  SetState(v1::JOB_STATE_STOPPING);
  orchestrator_.SaveAndStop(
      [this](const absl::StatusOr<PublishedCheckpoint>& published) {
        mu_.AssertHeld();
        OnLastCheckpoint(v1::JOB_STATE_STOPPED, published);
      });
}

void Coordinator::AnswerStops(
    const absl::StatusOr<PublishedCheckpoint>& published) {
  for (const CheckpointOrchestrator::Done& stop : std::exchange(stops_, {})) {
    stop(published);
  }
}

void Coordinator::FailJob(const absl::Status& why) {
  MutexLock lock(&mu_);
  Fail(why);
}

void Coordinator::Fail(const absl::Status& why) {
  if (ended()) {
    return;
  }
  failure_ = why;
  SetState(v1::JOB_STATE_FAILED);
  orchestrator_.Abort(JobFailed());
  AnswerStops(JobFailed());
  EndServers();
}

// Never one of the codes that a caller tries again, whatever the reason was.
absl::Status Coordinator::JobFailed() const {
  return absl::AbortedError(
      absl::StrCat("the job failed: ", failure_.message()));
}

void Coordinator::EndServers() {
  for (size_t i = 0; i < controls_.size(); ++i) {
    v1::EndJobRequest request;
    request.set_job_id(options_.job.job_id());
    request.set_incarnation(shard_map_.servers(i).incarnation());
    request.set_state(state_);
    request.set_message(std::string(failure_.message()));
    control_executor_->Post([this, request,
                             id = shard_map_.servers(i).server_id(),
                             control = controls_[i].get()] {
      control->EndJob(request,
                      [this, id](const absl::StatusOr<v1::EndJobResponse>&) {
                        // One that could not be told is gone, or hears it by
                        // its lease.
                        Enter([&] {
                          mu_.AssertHeld();
                          membership_.NoteTold(v1::MEMBER_KIND_SERVER, id);
                        });
                      });
    });
  }
}

}  // namespace selari
