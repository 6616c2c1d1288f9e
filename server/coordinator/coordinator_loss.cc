// What happens when a member of a running job is lost: the part of Coordinator
// that takes all of them back to the newest checkpoint.

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

// Its shards are gone.
void Coordinator::LoseServer(int32_t id, absl::string_view how) {
  if (state_ != v1::JOB_STATE_JOINING) {  // else one is waited for already
    GoBack(absl::StrCat(MemberName(v1::MEMBER_KIND_SERVER, id), " ", how,
                        " and lost its shards"));
  }
}

void Coordinator::LoseWorker(int32_t id) {
  // In STOPPING too: the last checkpoint must not have its mixed gradient.
  if (IsSync(options_.job.job()) &&
      (state_ == v1::JOB_STATE_RUNNING || state_ == v1::JOB_STATE_FINISHING ||
       state_ == v1::JOB_STATE_STOPPING)) {
    GoBack(
        absl::StrCat(MemberName(v1::MEMBER_KIND_WORKER, id), " begins anew"));
    MaybeInitialize();
  }
}

// All begin at the newest checkpoint, once all servers are there.
void Coordinator::GoBack(const std::string& what) {
  if (state_ == v1::JOB_STATE_STOPPING) {
    Fail(absl::UnavailableError(what));
    return;
  }
  if (++losses_ > kLossesMax) {
    Fail(absl::UnavailableError(absl::StrCat(
        what, "; it is the ", losses_, "th loss of a member since ",
        newest_.path.empty()
            ? std::string("the job began")
            : absl::StrCat("the checkpoint of step ", newest_.step),
        "; set checkpointing.every_steps lower, or mend the members")));
    return;
  }
  Log(absl::StrCat(
      what, "; the job goes back to ",
      newest_.path.empty()
          ? std::string("its beginning")
          : absl::StrCat("its checkpoint of step ", newest_.step)));
  SetState(v1::JOB_STATE_JOINING);
  orchestrator_.Interrupt(absl::UnavailableError(what));
}

}  // namespace selari
