#include "common/lease_keeper.h"

#include <algorithm>
#include <utility>

namespace selari {

int64_t LeaseKeeper::IntervalForLease(int64_t lease_ms) {
  return std::clamp<int64_t>(lease_ms / 3, 1, 1'000);
}

LeaseKeeper::LeaseKeeper(Options options)
    : options_(std::move(options)), thread_([this] { Run(); }) {}

LeaseKeeper::~LeaseKeeper() {
  stop_.RequestStop();
  thread_.join();
}

void LeaseKeeper::Run() {
  int64_t last_good_ms = options_.clock->NowMs();
  while (!stop_.WaitForMs(options_.interval_ms)) {
    const absl::StatusOr<v1::RenewLeaseResponse> response =
        options_.client->RenewLease(options_.request);
    const int64_t now_ms = options_.clock->NowMs();
    if (response.ok()) {
      last_good_ms = now_ms;
    }
    if (!options_.on_renewal(response, now_ms - last_good_ms)) {
      return;
    }
  }
}

}  // namespace selari
