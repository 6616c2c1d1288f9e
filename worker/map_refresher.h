// MapRefresher: finds the servers of a worker's steps again while the steps go
// on. When a server restarts with its shards as they were
// (DURABILITY_JOURNALED), the coordinator makes a newer map that says where it
// is now; this asks for that map and gives it to the transport. A map with
// which the job goes back to a checkpoint is left to MapFollower, which ends
// the steps.
//
// Thread safety: the constructor and destructor from one thread; it works on
// one of its own.

#ifndef SELARI_WORKER_MAP_REFRESHER_H_
#define SELARI_WORKER_MAP_REFRESHER_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "common/coordinator_client.h"
#include "common/shard_message.h"
#include "common/stop_token.h"
#include "worker/client/cancellable_transport.h"

namespace selari {

class MapRefresher {
 public:
  struct Options {
    CoordinatorClient* client = nullptr;   // borrowed
    TransportSwitch* transport = nullptr;  // borrowed; that of the steps
    WorkerIdentity identity;               // of the lease
    // With which the steps began.
    int64_t map_version = 0;
    // Version of the newest map that the worker has heard of otherwise.
    std::function<int64_t()> newest_version;
    // Told the version of each map that the transport has taken. Null: nobody.
    std::function<void(int64_t)> on_map;
    // Between two looks. > 0.
    int64_t interval_ms = 100;
  };

  explicit MapRefresher(Options options);
  // Waits for a call to the coordinator that is under way.
  ~MapRefresher();
  MapRefresher(const MapRefresher&) = delete;
  MapRefresher& operator=(const MapRefresher&) = delete;

 private:
  void Run();
  // Asks the coordinator if the transport may need a newer map.
  void Look();

  const Options options_;
  StopToken stop_;
  int64_t used_version_;  // its own thread's
  std::thread thread_;
};

}  // namespace selari

#endif  // SELARI_WORKER_MAP_REFRESHER_H_
