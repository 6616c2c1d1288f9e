// MapFollower: tells a worker whether what it does still counts. When the job
// goes back to a checkpoint, as a member was lost, the coordinator names the
// map with which the shards begin anew. Steps that began with an older one are
// ended, to begin anew with the new one. Any other newer map only says where
// servers are (map_refresher.h).
//
// Thread safety: OnRenewal and newest_version from any thread, the rest from
// the worker's.

#ifndef SELARI_WORKER_MAP_FOLLOWER_H_
#define SELARI_WORKER_MAP_FOLLOWER_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/coordinator_client.h"
#include "common/mutex.h"
#include "common/shard_message.h"
#include "common/stop_token.h"
#include "selari/v1/coordinator_service.pb.h"
#include "worker/client/cancellable_transport.h"

namespace selari {

// What began with the map of this version is undone. A coordinator that does
// not say with which map the shards began knows of no map but such.
bool IsUndone(const v1::RenewLeaseResponse& renewal, int64_t version);

class MapFollower {
 public:
  struct Options {
    CoordinatorClient* client = nullptr;  // borrowed
    const Clock* clock = nullptr;         // borrowed
    WorkerIdentity identity;              // of the lease
    int32_t lease_ms = 0;
    // Told each state of the job that is heard of; an error when the worker
    // is to end.
    std::function<absl::Status(v1::JobState)> on_state;
  };

  // While it lives, steps run with the map of `version`, and `off` ends them.
  class Use {
   public:
    Use(MapFollower* maps, int64_t version, TransportSwitch* off);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    MapFollower& maps_;
  };

  explicit MapFollower(Options options) : options_(std::move(options)) {}

  // The lease was renewed: ends steps that are undone.
  void OnRenewal(const v1::RenewLeaseResponse& renewal);
  // Of all maps that OnRenewal has heard of.
  int64_t newest_version() const;

  // After the last step: waits until the job has ended, or the worker is to
  // end. False when the job goes back instead; a server that comes back as it
  // was is waited for.
  bool WaitForEnd(int64_t version);

  // After steps that began with the map of `version` ended with `error`: true
  // once the job goes back, so that they can begin anew.
  // Blocks for two leases at most, as the coordinator may hear later than this
  // worker that a server is gone.
  bool MayTryAgain(const absl::Status& error, int64_t version);

 private:
  enum class News { kNone, kGoesBack, kJobDone, kWorkerEnds };
  absl::StatusOr<News> Ask(int64_t version);

  const Options options_;
  const StopToken never_;

  mutable Mutex mu_;
  int64_t newest_version_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t version_ ABSL_GUARDED_BY(mu_) = 0;
  TransportSwitch* off_ ABSL_GUARDED_BY(mu_) = nullptr;  // null: no steps
};

}  // namespace selari

#endif  // SELARI_WORKER_MAP_FOLLOWER_H_
