#include "cli/local_coordinator_client.h"

#include <utility>

#include "absl/status/statusor.h"
#include "common/notification.h"
#include "server/coordinator/coordinator.h"

namespace selari {
namespace {

class LocalCoordinatorClient : public CoordinatorClient {
 public:
  explicit LocalCoordinatorClient(Coordinator* coordinator)
      : coordinator_(*coordinator) {}

  absl::StatusOr<v1::RegisterServerResponse> RegisterServer(
      const v1::RegisterServerRequest& request) override {
    return coordinator_.RegisterServer(request);
  }
  absl::StatusOr<v1::RegisterWorkerResponse> RegisterWorker(
      const v1::RegisterWorkerRequest& request) override {
    return coordinator_.RegisterWorker(request);
  }
  absl::StatusOr<v1::RenewLeaseResponse> RenewLease(
      const v1::RenewLeaseRequest& request) override {
    return coordinator_.RenewLease(request);
  }
  absl::StatusOr<v1::GetShardMapResponse> GetShardMap() override {
    return coordinator_.GetShardMap();
  }
  absl::StatusOr<v1::GetJobResponse> GetJob() override {
    return coordinator_.GetJob();
  }
  absl::StatusOr<v1::JobStatus> GetJobStatus() override {
    return coordinator_.GetJobStatus();
  }
  absl::StatusOr<v1::ReportProgressResponse> ReportProgress(
      const v1::ReportProgressRequest& request) override {
    return coordinator_.ReportProgress(request);
  }
  absl::StatusOr<v1::SaveCheckpointResponse> SaveCheckpoint() override {
    return WaitFor<v1::SaveCheckpointResponse>(&Coordinator::SaveCheckpoint);
  }
  absl::StatusOr<v1::StopJobResponse> StopJob() override {
    return WaitFor<v1::StopJobResponse>(&Coordinator::StopJob);
  }

 private:
  template <class Response>
  absl::StatusOr<Response> WaitFor(
      void (Coordinator::*method)(Coordinator::Done<Response>)) {
    absl::StatusOr<Response> result;
    Notification answered;
    (coordinator_.*method)([&](absl::StatusOr<Response> response) {
      result = std::move(response);
      answered.Notify();
    });
    answered.Wait();
    return result;
  }

  Coordinator& coordinator_;
};

}  // namespace

std::unique_ptr<CoordinatorClient> MakeLocalCoordinatorClient(
    Coordinator* coordinator) {
  return std::make_unique<LocalCoordinatorClient>(coordinator);
}

}  // namespace selari
