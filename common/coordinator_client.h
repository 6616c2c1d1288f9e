// CoordinatorClient: the coordinator as servers, workers and the cli see it.
// The messages are those of CoordinatorService; the calls go through gRPC
// (grpc_coordinator_client.h) or straight to a Coordinator in this process
// (cli). Every call has a deadline of its own in the implementation.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_COMMON_COORDINATOR_CLIENT_H_
#define SELARI_COMMON_COORDINATOR_CLIENT_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

class CoordinatorClient {
 public:
  virtual ~CoordinatorClient() = default;

  virtual absl::StatusOr<v1::RegisterServerResponse> RegisterServer(
      const v1::RegisterServerRequest& request) = 0;
  virtual absl::StatusOr<v1::RegisterWorkerResponse> RegisterWorker(
      const v1::RegisterWorkerRequest& request) = 0;
  virtual absl::StatusOr<v1::RenewLeaseResponse> RenewLease(
      const v1::RenewLeaseRequest& request) = 0;
  // UNAVAILABLE until all servers have joined and are initialised; the
  // message says who is missing.
  virtual absl::StatusOr<v1::GetShardMapResponse> GetShardMap() = 0;
  virtual absl::StatusOr<v1::GetJobResponse> GetJob() = 0;
  virtual absl::StatusOr<v1::JobStatus> GetJobStatus() = 0;
  virtual absl::StatusOr<v1::ReportProgressResponse> ReportProgress(
      const v1::ReportProgressRequest& request) = 0;
  virtual absl::StatusOr<v1::SaveCheckpointResponse> SaveCheckpoint() = 0;
  virtual absl::StatusOr<v1::StopJobResponse> StopJob() = 0;
};

}  // namespace selari

#endif  // SELARI_COMMON_COORDINATOR_CLIENT_H_
