// The reading half of Coordinator: what it answers about itself.

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/wait_text.h"

namespace selari {

std::string Coordinator::DescribeWait() const {
  const WaitLimits limits{clock_.NowMs(),
                          int64_t{1000} * cluster_.join_timeout_s()};
  switch (state_) {
    case v1::JOB_STATE_JOINING: {
      const auto missing = membership_.Missing(v1::MEMBER_KIND_SERVER);
      return missing.empty() ? ""
                             : MissingText(missing, cluster_.servers(), limits);
    }
    case v1::JOB_STATE_INITIALIZING: {
      std::vector<const Member*> waiting;
      for (size_t i = 0; i < assigned_.size(); ++i) {
        if (!assigned_[i]) {
          waiting.push_back(&membership_.members(v1::MEMBER_KIND_SERVER)[i]);
        }
      }
      return absl::StrCat(
          "waits while ", MemberNames(waiting),
          waiting.size() == 1 ? (base_.path.empty() ? " initialises its shards"
                                                    : " restores its shards")
                              : (base_.path.empty() ? " initialise their shards"
                                                    : " restore their shards"),
          ", ", (limits.now_ms - state_since_ms_) / 1000, " s so far");
    }
    case v1::JOB_STATE_RUNNING: {
      const auto missing = membership_.Missing(v1::MEMBER_KIND_WORKER);
      return missing.empty() || !needs_workers()
                 ? ""
                 : MissingText(missing, cluster_.workers(), limits);
    }
    case v1::JOB_STATE_STOPPING:
    case v1::JOB_STATE_FINISHING:
      if (const Member* const lost = LostWhileStopping()) {
        return absl::StrCat("saves the last checkpoint, which may need ",
                            MemberName(lost->kind, lost->id),
                            "'s part of a step; does without it ",
                            cluster_.lease_ms(), " ms after it was lost");
      }
      return orchestrator_.Describe().empty()
                 ? "saves the last checkpoint"
                 : absl::StrCat("saves the last checkpoint: ",
                                orchestrator_.Describe());
    default:
      return "";
  }
}

std::string Coordinator::DescribeState() const {
  switch (state_) {
    case v1::JOB_STATE_INITIALIZING:
      return absl::StrCat(
          "all servers are there; ",
          base_.path.empty()
              ? std::string("they initialise their shards")
              : absl::StrCat("they restore their shards from the checkpoint "
                             "of step ",
                             base_.step));
    case v1::JOB_STATE_RUNNING: {
      const auto missing = membership_.Missing(v1::MEMBER_KIND_WORKER);
      return missing.empty() || !needs_workers()
                 ? "the shards are ready"
                 : absl::StrCat("the shards are ready; training begins when ",
                                MemberNames(missing),
                                missing.size() == 1 ? " has" : " have",
                                " joined");
    }
    default: {
      const std::string message = Message();
      return message.empty() ? "" : absl::StrCat("the coordinator ", message);
    }
  }
}

std::string Coordinator::Message() const {
  if (state_ == v1::JOB_STATE_FAILED) {
    return std::string(failure_.message());
  }
  const std::string wait = DescribeWait();
  return wait.empty() ? std::string(checkpoint_error_.message()) : wait;
}

v1::JobStatus Coordinator::GetJobStatus() const {
  MutexLock lock(&mu_);
  v1::JobStatus status;
  progress_.Describe(&status);
  DescribeJob(&status);
  status.set_message(Message());
  DescribeMembers(&status);
  return status;
}

// Behind JobProgress::Describe: a checkpoint has all updates up to its step,
// whatever the workers have told by now.
void Coordinator::DescribeJob(v1::JobStatus* status) const {
  status->set_job_id(options_.job.job_id());
  status->set_job_name(options_.job.job().name());
  status->set_state(state_);
  status->set_step(std::max(status->step(), newest_.step));
  status->set_total_steps(options_.job.total_steps());
  status->set_checkpoint(newest_.path);
  status->set_checkpoint_digest(newest_.state_digest);
  status->set_checkpoint_step(newest_.step);
}

void Coordinator::PersistStatus() {
  v1::JobStatus status;
  progress_.DescribeNewest(&status);
  DescribeJob(&status);
  status.set_message(std::string(failure_.message()));
  status.set_written_time_ms(clock_.WallTimeMs());
  status_persisted_ms_ = clock_.NowMs();
  Persist(kStatusKey, status.SerializeAsString());
}

void Coordinator::DescribeMembers(v1::JobStatus* status) const {
  const int64_t now_ms = clock_.NowMs();
  for (const v1::MemberKind kind :
       {v1::MEMBER_KIND_SERVER, v1::MEMBER_KIND_WORKER}) {
    for (const Member& member : membership_.members(kind)) {
      v1::MemberStatus* entry = status->add_members();
      entry->set_kind(kind);
      entry->set_member_id(member.id);
      entry->set_address(member.address);
      entry->set_alive(member.alive);
      entry->set_joined(member.ever_joined());
      entry->set_silent_ms(now_ms - (member.ever_joined()
                                         ? member.last_heard_ms
                                         : member.missing_since_ms));
      if (kind == v1::MEMBER_KIND_WORKER) {
        const JobProgress::WorkerProgress& worker = progress_.worker(member.id);
        entry->set_step(worker.step);
        if (worker.totals.has_value()) {
          *entry->mutable_totals() = *worker.totals;
        }
        entry->set_finished(worker.finished);
      }
    }
  }
}

int64_t Coordinator::change_count() const {
  MutexLock lock(&mu_);
  return change_count_;
}

v1::JobState Coordinator::state() const {
  MutexLock lock(&mu_);
  return state_;
}

bool Coordinator::members_know_the_end() const {
  MutexLock lock(&mu_);
  if (!ended()) {
    return false;
  }
  for (const v1::MemberKind kind :
       {v1::MEMBER_KIND_SERVER, v1::MEMBER_KIND_WORKER}) {
    for (const Member& member : membership_.members(kind)) {
      // A worker reports once more after it has heard, then leaves.
      if (member.alive &&
          (kind == v1::MEMBER_KIND_WORKER || !member.knows_the_end)) {
        return false;
      }
    }
  }
  return true;
}

bool Coordinator::all_members_came() const {
  MutexLock lock(&mu_);
  const auto came = [](const Member& member) { return member.ever_joined(); };
  const auto& servers = membership_.members(v1::MEMBER_KIND_SERVER);
  const auto& workers = membership_.members(v1::MEMBER_KIND_WORKER);
  return std::all_of(servers.begin(), servers.end(), came) &&
         (!needs_workers() ||
          std::all_of(workers.begin(), workers.end(), came));
}

absl::Status Coordinator::result() const {
  MutexLock lock(&mu_);
  return failure_;
}

}  // namespace selari
