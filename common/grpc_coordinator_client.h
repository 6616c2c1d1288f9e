// GrpcCoordinatorClient: the coordinator in another process.

#ifndef SELARI_COMMON_GRPC_COORDINATOR_CLIENT_H_
#define SELARI_COMMON_GRPC_COORDINATOR_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "common/coordinator_client.h"

namespace selari {

struct GrpcCoordinatorClientOptions {
  // host:port. Needed.
  std::string address;
  // Deadline of every call but the two below. > 0.
  int64_t call_timeout_ms = 5'000;
  // Deadline of SaveCheckpoint and StopJob, which last as long as the disk
  // takes. > 0.
  int64_t save_timeout_ms = 600'000;
};

// Dials at the first call. A call fails with UNAVAILABLE at once while the
// coordinator cannot be reached: callers retry (common/retry.h).
std::unique_ptr<CoordinatorClient> MakeGrpcCoordinatorClient(
    const GrpcCoordinatorClientOptions& options);

}  // namespace selari

#endif  // SELARI_COMMON_GRPC_COORDINATOR_CLIENT_H_
