// ShardService: the control plane of a server process over gRPC. Every method
// hands over to the ShardControl at once and answers when that is done.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_SERVER_RPC_SHARD_SERVICE_H_
#define SELARI_SERVER_RPC_SHARD_SERVICE_H_

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "selari/v1/shard_service.grpc.pb.h"
#include "server/shard_control/shard_control.h"

namespace selari {

class ShardService final : public v1::ShardService::CallbackService {
 public:
  // `control` is borrowed, until RpcServer::Shutdown has ended. A call may wait
  // for a capture: close the control before the shutdown.
  explicit ShardService(ShardControl* control) : control_(*control) {}

  grpc::ServerUnaryReactor* AssignShards(
      grpc::CallbackServerContext* context,
      const v1::AssignShardsRequest* request,
      v1::AssignShardsResponse* response) override;
  grpc::ServerUnaryReactor* PauseShards(
      grpc::CallbackServerContext* context,
      const v1::PauseShardsRequest* request,
      v1::PauseShardsResponse* response) override;
  grpc::ServerUnaryReactor* ResumeShards(
      grpc::CallbackServerContext* context,
      const v1::ResumeShardsRequest* request,
      v1::ResumeShardsResponse* response) override;
  grpc::ServerUnaryReactor* SaveShards(
      grpc::CallbackServerContext* context,
      const v1::SaveShardsRequest* request,
      v1::SaveShardsResponse* response) override;
  grpc::ServerUnaryReactor* TrimJournals(
      grpc::CallbackServerContext* context,
      const v1::TrimJournalsRequest* request,
      v1::TrimJournalsResponse* response) override;
  grpc::ServerUnaryReactor* GetShardStatus(
      grpc::CallbackServerContext* context,
      const v1::GetShardStatusRequest* request,
      v1::GetShardStatusResponse* response) override;
  grpc::ServerUnaryReactor* EndJob(grpc::CallbackServerContext* context,
                                   const v1::EndJobRequest* request,
                                   v1::EndJobResponse* response) override;

 private:
  ShardControl& control_;
};

}  // namespace selari

#endif  // SELARI_SERVER_RPC_SHARD_SERVICE_H_
