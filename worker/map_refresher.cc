#include "worker/map_refresher.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "selari/v1/coordinator_service.pb.h"
#include "worker/map_follower.h"

namespace selari {

MapRefresher::MapRefresher(Options options)
    : options_(std::move(options)),
      used_version_(options_.map_version),
      thread_([this] { Run(); }) {}

MapRefresher::~MapRefresher() {
  stop_.RequestStop();
  thread_.join();
}

void MapRefresher::Run() {
  while (!stop_.WaitForMs(options_.interval_ms) &&
         options_.transport->status().ok()) {
    Look();
  }
}

// Silent about a coordinator that does not answer or has no map yet: the keeper
// of the lease and the transport say who is waited for.
void MapRefresher::Look() {
  if (!options_.transport->SomeServerIsAway() &&
      options_.newest_version() <= used_version_) {
    return;
  }
  const absl::StatusOr<v1::GetShardMapResponse> map =
      options_.client->GetShardMap();
  if (!map.ok() || map->shard_map().version() <= used_version_) {
    return;
  }
  // Asked after the map was made, so that it tells whether the job went back
  // with it: then nothing of these steps may reach the servers it names.
  v1::RenewLeaseRequest request;
  request.set_kind(v1::MEMBER_KIND_WORKER);
  request.set_member_id(options_.identity.worker_id);
  request.set_incarnation(options_.identity.incarnation);
  const absl::StatusOr<v1::RenewLeaseResponse> renewal =
      options_.client->RenewLease(request);
  if (!renewal.ok() || IsUndone(*renewal, options_.map_version)) {
    return;
  }
  const absl::Status status = options_.transport->UseMap(map->shard_map());
  if (absl::IsUnavailable(status)) {
    return;  // the transport starts a moment later
  }
  if (!status.ok()) {
    options_.transport->Cancel(status);
    return;
  }
  used_version_ = map->shard_map().version();
  if (options_.on_map != nullptr) {
    options_.on_map(used_version_);
  }
}

}  // namespace selari
