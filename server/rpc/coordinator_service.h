// CoordinatorService: a Coordinator over gRPC. Every method hands over to it;
// the two watches send the newest status or map, at most one for each Tick.
//
//   CoordinatorService service(&coordinator);
//   ... RpcServer::Start(..., {&service}) ...
//   ... service.Tick() every 100 ms ...
//   service.Drain(1000);   // before RpcServer::Shutdown
//
// Thread safety: all methods from any thread.

#ifndef SELARI_SERVER_RPC_COORDINATOR_SERVICE_H_
#define SELARI_SERVER_RPC_COORDINATOR_SERVICE_H_

#include <cstdint>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "selari/v1/coordinator_service.grpc.pb.h"
#include "server/coordinator/coordinator.h"
#include "server/rpc/live_calls.h"
#include "server/rpc/watch_reactor.h"

namespace selari {

class CoordinatorService final
    : public v1::CoordinatorService::CallbackService {
 public:
  // Watches open at once.
  static constexpr int32_t kWatchesMax = 1024;

  // `coordinator` is borrowed, until RpcServer::Shutdown has ended. A call may
  // wait for a checkpoint: end the job before the shutdown.
  explicit CoordinatorService(Coordinator* coordinator)
      : coordinator_(*coordinator), live_calls_(kWatchesMax) {}

  // Sends what has changed.
  void Tick();
  // Ends all watches; later ones are refused. Returns when none is left.
  void Drain(int64_t timeout_ms) { live_calls_.Drain(timeout_ms); }

  grpc::ServerUnaryReactor* RegisterServer(
      grpc::CallbackServerContext* context,
      const v1::RegisterServerRequest* request,
      v1::RegisterServerResponse* response) override;
  grpc::ServerUnaryReactor* RegisterWorker(
      grpc::CallbackServerContext* context,
      const v1::RegisterWorkerRequest* request,
      v1::RegisterWorkerResponse* response) override;
  grpc::ServerUnaryReactor* RenewLease(
      grpc::CallbackServerContext* context,
      const v1::RenewLeaseRequest* request,
      v1::RenewLeaseResponse* response) override;
  grpc::ServerUnaryReactor* GetShardMap(
      grpc::CallbackServerContext* context,
      const v1::GetShardMapRequest* request,
      v1::GetShardMapResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchShardMapResponse>* WatchShardMap(
      grpc::CallbackServerContext* context,
      const v1::WatchShardMapRequest* request) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request,
                                   v1::GetJobResponse* response) override;
  grpc::ServerUnaryReactor* GetJobStatus(
      grpc::CallbackServerContext* context,
      const v1::GetJobStatusRequest* request,
      v1::GetJobStatusResponse* response) override;
  grpc::ServerWriteReactor<v1::WatchJobStatusResponse>* WatchJobStatus(
      grpc::CallbackServerContext* context,
      const v1::WatchJobStatusRequest* request) override;
  grpc::ServerUnaryReactor* ReportProgress(
      grpc::CallbackServerContext* context,
      const v1::ReportProgressRequest* request,
      v1::ReportProgressResponse* response) override;
  grpc::ServerUnaryReactor* SaveCheckpoint(
      grpc::CallbackServerContext* context,
      const v1::SaveCheckpointRequest* request,
      v1::SaveCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* StopJob(grpc::CallbackServerContext* context,
                                    const v1::StopJobRequest* request,
                                    v1::StopJobResponse* response) override;

 private:
  template <class Response>
  grpc::ServerWriteReactor<Response>* StartWatch(
      grpc::CallbackServerContext* context,
      typename WatchReactor<Response>::Source source);

  Coordinator& coordinator_;
  LiveCalls live_calls_;

  Mutex mu_;
  std::set<std::shared_ptr<Watch>> watches_ ABSL_GUARDED_BY(mu_);
};

}  // namespace selari

#endif  // SELARI_SERVER_RPC_COORDINATOR_SERVICE_H_
