// FakeCoordinatorClient: a coordinator of which a test writes the answers as
// functions. What is not set answers UNIMPLEMENTED.
//
// Thread safety: set the functions first; they are called from any thread.

#ifndef SELARI_COMMON_FAKE_COORDINATOR_CLIENT_H_
#define SELARI_COMMON_FAKE_COORDINATOR_CLIENT_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/coordinator_client.h"

namespace selari {

class FakeCoordinatorClient : public CoordinatorClient {
 public:
  template <class Response, class... Request>
  using Handler = std::function<absl::StatusOr<Response>(const Request&...)>;

  absl::StatusOr<v1::RegisterServerResponse> RegisterServer(
      const v1::RegisterServerRequest& request) override {
    return Answer(on_register_server, request);
  }
  absl::StatusOr<v1::RegisterWorkerResponse> RegisterWorker(
      const v1::RegisterWorkerRequest& request) override {
    return Answer(on_register_worker, request);
  }
  absl::StatusOr<v1::RenewLeaseResponse> RenewLease(
      const v1::RenewLeaseRequest& request) override {
    return Answer(on_renew_lease, request);
  }
  absl::StatusOr<v1::GetShardMapResponse> GetShardMap() override {
    return Answer(on_get_shard_map);
  }
  absl::StatusOr<v1::GetJobResponse> GetJob() override {
    return Answer(on_get_job);
  }
  absl::StatusOr<v1::JobStatus> GetJobStatus() override {
    return Answer(on_get_job_status);
  }
  absl::StatusOr<v1::ReportProgressResponse> ReportProgress(
      const v1::ReportProgressRequest& request) override {
    return Answer(on_report_progress, request);
  }
  absl::StatusOr<v1::SaveCheckpointResponse> SaveCheckpoint() override {
    return Answer(on_save_checkpoint);
  }
  absl::StatusOr<v1::StopJobResponse> StopJob() override {
    return Answer(on_stop_job);
  }

  Handler<v1::RegisterServerResponse, v1::RegisterServerRequest>
      on_register_server;
  Handler<v1::RegisterWorkerResponse, v1::RegisterWorkerRequest>
      on_register_worker;
  Handler<v1::RenewLeaseResponse, v1::RenewLeaseRequest> on_renew_lease;
  Handler<v1::GetShardMapResponse> on_get_shard_map;
  Handler<v1::GetJobResponse> on_get_job;
  Handler<v1::JobStatus> on_get_job_status;
  Handler<v1::ReportProgressResponse, v1::ReportProgressRequest>
      on_report_progress;
  Handler<v1::SaveCheckpointResponse> on_save_checkpoint;
  Handler<v1::StopJobResponse> on_stop_job;

 private:
  template <class Response, class... Request>
  static absl::StatusOr<Response> Answer(
      const std::function<absl::StatusOr<Response>(const Request&...)>& handler,
      const Request&... request) {
    if (handler == nullptr) {
      return absl::UnimplementedError("no answer was set");
    }
    return handler(request...);
  }
};

}  // namespace selari

#endif  // SELARI_COMMON_FAKE_COORDINATOR_CLIENT_H_
