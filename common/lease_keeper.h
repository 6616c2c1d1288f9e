// LeaseKeeper: keeps a member's lease at the coordinator from a thread of its
// own, so that a long computation never looks like a death.
//
// Thread safety: the constructor and destructor from one thread; the callback
// comes from the keeper's.

#ifndef SELARI_COMMON_LEASE_KEEPER_H_
#define SELARI_COMMON_LEASE_KEEPER_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/coordinator_client.h"
#include "common/stop_token.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

class LeaseKeeper {
 public:
  struct Options {
    CoordinatorClient* client = nullptr;  // borrowed
    const Clock* clock = nullptr;         // borrowed
    v1::RenewLeaseRequest request;
    // Between two renewals. > 0.
    int64_t interval_ms = 1'000;
    // Called after each renewal with its result and how long the last good one
    // is ago. False ends the keeper.
    std::function<bool(const absl::StatusOr<v1::RenewLeaseResponse>& response,
                       int64_t silent_ms)>
        on_renewal;
  };

  // The longest interval with which a lease survives two lost renewals, and a
  // member hears of the job's end within a second.
  static int64_t IntervalForLease(int64_t lease_ms);

  explicit LeaseKeeper(Options options);
  // Waits for a renewal that is under way.
  ~LeaseKeeper();

 private:
  void Run();

  const Options options_;
  StopToken stop_;
  std::thread thread_;
};

}  // namespace selari

#endif  // SELARI_COMMON_LEASE_KEEPER_H_
