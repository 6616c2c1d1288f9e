// What happens when a member of a running job is lost: the part of Coordinator
// that takes all of them back to the newest checkpoint, or waits for the lost
// one to come to where it was by its journals.

#include "absl/strings/str_cat.h"
#include "common/job_reduction.h"
#include "server/coordinator/coordinator.h"

namespace selari {
namespace {

// Members that may be lost between two checkpoints: a job that cannot hold its
// members for so long would go back for ever.
constexpr int kLossesMax = 10;
}  // namespace

void Coordinator::NoteDeath(v1::MemberKind kind, int32_t id,
                            absl::string_view how) {
  MutexLock lock(&mu_);
  membership_.EndLease(kind, id, clock_.NowMs());
  ++change_count_;
  if (!ended()) {
    OnMemberGone(kind, id, how);
  }
}

// Told once: with what comes of it, if anything does.
void Coordinator::OnMemberGone(v1::MemberKind kind, int32_t id,
                               absl::string_view how) {
  if (kind == v1::MEMBER_KIND_SERVER && shard_map_.version() > 0 &&
      state_ != v1::JOB_STATE_JOINING) {
    LoseServer(id, how);
  } else {
    Log(absl::StrCat(MemberName(kind, id), " ", how));
  }
}

// Its shards are gone, but for what is on a disk.
void Coordinator::LoseServer(int32_t id, absl::string_view how) {
  if (state_ == v1::JOB_STATE_JOINING) {
    return;  // one is waited for already
  }
  // Not in STOPPING: workers that were told of it do not send again what the
  // last cut may need.
  const bool whole = recovering_ || state_ == v1::JOB_STATE_RUNNING ||
                     state_ == v1::JOB_STATE_FINISHING;
  if (whole && !options_.journal_directory.empty()) {
    Recover(absl::StrCat(MemberName(v1::MEMBER_KIND_SERVER, id), " ", how));
  } else {
    GoBack(absl::StrCat(MemberName(v1::MEMBER_KIND_SERVER, id), " ", how,
                        " and lost its shards"));
  }
}

// What a former life had pushed of a step, its next one pushes again: the same
// bits, unless they come from weights of two versions or from what only that
// life knew.
bool Coordinator::WorkersFindTheStep() const {
  const v1::Job& job = options_.job.job();
  return IsSync(job) && !job.has_compression() && !job.model().has_custom();
}

void Coordinator::LoseWorker(int32_t id) {
  const bool trained = state_ == v1::JOB_STATE_RUNNING ||
                       state_ == v1::JOB_STATE_FINISHING ||
                       state_ == v1::JOB_STATE_STOPPING || recovering_;
  if (!trained || !IsSync(options_.job.job())) {
    return;
  }
  const std::string what =
      absl::StrCat(MemberName(v1::MEMBER_KIND_WORKER, id), " begins anew");
  if (WorkersFindTheStep()) {
    if (CountLossOnTheWay(what)) {
      Log(absl::StrCat(what, ", at the step that the others are at"));
    }
    return;
  }
  // In STOPPING too: the last checkpoint must not have its mixed gradient.
  GoBack(what);
  MaybeInitialize();
}

// As CountLoss, of a loss that takes nothing back: only without any progress
// between them do such losses add up.
bool Coordinator::CountLossOnTheWay(const std::string& what) {
  if (progress_.step() > loss_step_) {
    losses_ = 0;
  }
  loss_step_ = progress_.step();
  return CountLoss(what);
}

bool Coordinator::CountLoss(const std::string& what) {
  if (++losses_ <= kLossesMax) {
    return true;
  }
  Fail(absl::UnavailableError(absl::StrCat(
      what, "; it is the ", losses_,
      "th loss of a member while the job got no further than ",
      newest_.path.empty()
          ? std::string("its beginning")
          : absl::StrCat("its checkpoint of step ", newest_.step),
      "; set checkpointing.every_steps lower, or mend the members")));
  return false;
}

// All begin at the newest checkpoint, once all servers are there.
void Coordinator::GoBack(const std::string& what) {
  if (state_ == v1::JOB_STATE_STOPPING) {
    Fail(absl::UnavailableError(what));
    return;
  }
  if (!CountLoss(what)) {
    return;
  }
  Log(absl::StrCat(
      what, "; the job goes back to ",
      newest_.path.empty()
          ? std::string("its beginning")
          : absl::StrCat("its checkpoint of step ", newest_.step)));
  recovering_ = false;
  base_map_version_ = shard_map_.version() + 1;
  SetState(v1::JOB_STATE_JOINING);
  orchestrator_.Interrupt(absl::UnavailableError(what));
  AnswerStops(absl::UnavailableError(what));
}

// The server comes back with all that was acknowledged. The job stands still
// until then, and nothing else happens to it.
void Coordinator::Recover(const std::string& what) {
  if (!CountLossOnTheWay(what)) {
    return;
  }
  Log(absl::StrCat(what, "; its journals have what it acknowledged"));
  recovering_ = true;
  SetState(v1::JOB_STATE_JOINING);
  orchestrator_.Interrupt(absl::UnavailableError(what));
}

}  // namespace selari
