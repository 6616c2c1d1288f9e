#include "common/grpc_coordinator_client.h"

#include <chrono>
#include <utility>

#include "common/grpc_channel.h"
#include "common/grpc_status.h"
#include "common/status.h"
#include "grpcpp/client_context.h"
#include "selari/v1/coordinator_service.grpc.pb.h"

namespace selari {
namespace {

class GrpcCoordinatorClient : public CoordinatorClient {
 public:
  using Stub = v1::CoordinatorService::Stub;

  explicit GrpcCoordinatorClient(const GrpcCoordinatorClientOptions& options)
      : options_(options),
        stub_(v1::CoordinatorService::NewStub(
            CreateGrpcChannel(options.address, /*credentials=*/nullptr))) {}

  absl::StatusOr<v1::RegisterServerResponse> RegisterServer(
      const v1::RegisterServerRequest& request) override {
    return Call(&Stub::RegisterServer, request, options_.call_timeout_ms);
  }
  absl::StatusOr<v1::RegisterWorkerResponse> RegisterWorker(
      const v1::RegisterWorkerRequest& request) override {
    return Call(&Stub::RegisterWorker, request, options_.call_timeout_ms);
  }
  absl::StatusOr<v1::RenewLeaseResponse> RenewLease(
      const v1::RenewLeaseRequest& request) override {
    return Call(&Stub::RenewLease, request, options_.call_timeout_ms);
  }
  absl::StatusOr<v1::GetShardMapResponse> GetShardMap() override {
    return Call(&Stub::GetShardMap, v1::GetShardMapRequest(),
                options_.call_timeout_ms);
  }
  absl::StatusOr<v1::GetJobResponse> GetJob() override {
    return Call(&Stub::GetJob, v1::GetJobRequest(), options_.call_timeout_ms);
  }
  absl::StatusOr<v1::JobStatus> GetJobStatus() override {
    SELARI_ASSIGN_OR_RETURN(v1::GetJobStatusResponse response,
                            Call(&Stub::GetJobStatus, v1::GetJobStatusRequest(),
                                 options_.call_timeout_ms));
    return std::move(*response.mutable_status());
  }
  absl::StatusOr<v1::ReportProgressResponse> ReportProgress(
      const v1::ReportProgressRequest& request) override {
    return Call(&Stub::ReportProgress, request, options_.call_timeout_ms);
  }
  absl::StatusOr<v1::SaveCheckpointResponse> SaveCheckpoint() override {
    return Call(&Stub::SaveCheckpoint, v1::SaveCheckpointRequest(),
                options_.save_timeout_ms);
  }
  absl::StatusOr<v1::StopJobResponse> StopJob() override {
    return Call(&Stub::StopJob, v1::StopJobRequest(), options_.save_timeout_ms);
  }

 private:
  template <class Request, class Response>
  absl::StatusOr<Response> Call(
      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                   Response*),
      const Request& request, int64_t timeout_ms) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(timeout_ms));
    Response response;
    const absl::Status status =
        FromGrpcStatus(((*stub_).*method)(&context, request, &response));
    if (!status.ok()) {
      return status;
    }
    return response;
  }

  const GrpcCoordinatorClientOptions options_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace

std::unique_ptr<CoordinatorClient> MakeGrpcCoordinatorClient(
    const GrpcCoordinatorClientOptions& options) {
  return std::make_unique<GrpcCoordinatorClient>(options);
}

}  // namespace selari
