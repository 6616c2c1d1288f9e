#include "worker/map_follower.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/error_reason.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr int64_t kPollMs = 100;

// What a server's loss may look like from here.
bool MayBeALoss(const absl::Status& error) {
  switch (ReasonOf(error)) {
    case ErrorReason::kStaleIncarnation:
    case ErrorReason::kNotInitialized:
    case ErrorReason::kStepTooFar:
    case ErrorReason::kSequenceGap:
      return true;
    default:
      return absl::IsUnavailable(error);
  }
}

// Version of the map with which the shards began last.
int64_t BaseOf(const v1::RenewLeaseResponse& renewal) {
  return renewal.base_map_version() > 0 ? renewal.base_map_version()
                                        : renewal.shard_map_version();
}

bool WaitsForMap(v1::JobState state) {
  return state == v1::JOB_STATE_JOINING || state == v1::JOB_STATE_INITIALIZING;
}

}  // namespace

bool IsUndone(const v1::RenewLeaseResponse& renewal, int64_t version) {
  return BaseOf(renewal) > version;
}

MapFollower::Use::Use(MapFollower* maps, int64_t version, TransportSwitch* off)
    : maps_(*maps) {
  MutexLock lock(&maps_.mu_);
  maps_.version_ = version;
  maps_.off_ = off;
}

MapFollower::Use::~Use() {
  MutexLock lock(&maps_.mu_);
  maps_.off_ = nullptr;
}

void MapFollower::OnRenewal(const v1::RenewLeaseResponse& renewal) {
  MutexLock lock(&mu_);
  newest_version_ = std::max(newest_version_, renewal.shard_map_version());
  if (off_ != nullptr && IsUndone(renewal, version_)) {
    off_->Cancel(WithReason(
        absl::UnavailableError(absl::StrCat("shard map ", BaseOf(renewal),
                                            " replaces map ", version_)),
        ErrorReason::kStaleIncarnation));
  }
}

int64_t MapFollower::newest_version() const {
  MutexLock lock(&mu_);
  return newest_version_;
}

absl::StatusOr<MapFollower::News> MapFollower::Ask(int64_t version) {
  v1::RenewLeaseRequest request;
  request.set_kind(v1::MEMBER_KIND_WORKER);
  request.set_member_id(options_.identity.worker_id);
  request.set_incarnation(options_.identity.incarnation);
  SELARI_ASSIGN_OR_RETURN(const v1::RenewLeaseResponse response,
                          options_.client->RenewLease(request));
  if (!options_.on_state(response.state()).ok()) {
    return News::kWorkerEnds;
  }
  if (response.state() == v1::JOB_STATE_DONE) {
    return News::kJobDone;
  }
  // Such a coordinator waits for a map only to go back with it.
  const bool will_be_undone =
      response.base_map_version() == 0 && WaitsForMap(response.state());
  return will_be_undone || IsUndone(response, version) ? News::kGoesBack
                                                       : News::kNone;
}

// Silence of the coordinator is for the keeper of the lease to judge, who ends
// the worker through on_state's error.
bool MapFollower::WaitForEnd(int64_t version) {
  while (options_.on_state(v1::JOB_STATE_UNSPECIFIED).ok()) {
    const absl::StatusOr<News> news = Ask(version);
    if (news.ok() && *news != News::kNone) {
      return *news != News::kGoesBack;
    }
    never_.WaitForMs(kPollMs);
  }
  return true;
}

bool MapFollower::MayTryAgain(const absl::Status& error, int64_t version) {
  if (!MayBeALoss(error)) {
    return false;
  }
  const int64_t deadline_ms =
      options_.clock->NowMs() + 2 * int64_t{options_.lease_ms};
  while (options_.on_state(v1::JOB_STATE_UNSPECIFIED).ok() &&
         options_.clock->NowMs() < deadline_ms) {
    const absl::StatusOr<News> news = Ask(version);
    if (news.ok() && *news != News::kNone) {
      return *news == News::kGoesBack;
    }
    never_.WaitForMs(kPollMs);
  }
  return false;
}

}  // namespace selari
