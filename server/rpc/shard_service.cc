#include "server/rpc/shard_service.h"

#include <utility>

#include "absl/status/statusor.h"
#include "common/grpc_status.h"

namespace selari {
namespace {

// A callback that answers the call. The reactor lives until Finish.
template <class Response>
ShardControl::Done<Response> Answer(grpc::ServerUnaryReactor* reactor,
                                    Response* response) {
  return [reactor, response](absl::StatusOr<Response> result) {
    const grpc::Status status = ToGrpcStatus(result.status());
    if (result.ok()) {
      *response = *std::move(result);
    }
    reactor->Finish(status);
  };
}

}  // namespace

grpc::ServerUnaryReactor* ShardService::AssignShards(
    grpc::CallbackServerContext* context,
    const v1::AssignShardsRequest* request,
    v1::AssignShardsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.AssignShards(*request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* ShardService::PauseShards(
    grpc::CallbackServerContext* context, const v1::PauseShardsRequest* request,
    v1::PauseShardsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.PauseShards(*request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* ShardService::ResumeShards(
    grpc::CallbackServerContext* context,
    const v1::ResumeShardsRequest* request,
    v1::ResumeShardsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.ResumeShards(*request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* ShardService::SaveShards(
    grpc::CallbackServerContext* context, const v1::SaveShardsRequest* request,
    v1::SaveShardsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.SaveShards(*request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* ShardService::TrimJournals(
    grpc::CallbackServerContext* context,
    const v1::TrimJournalsRequest* request,
    v1::TrimJournalsResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.TrimJournals(*request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* ShardService::GetShardStatus(
    grpc::CallbackServerContext* context,
    const v1::GetShardStatusRequest* request,
    v1::GetShardStatusResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.GetShardStatus(*request, Answer(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* ShardService::EndJob(
    grpc::CallbackServerContext* context, const v1::EndJobRequest* request,
    v1::EndJobResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  control_.EndJob(*request, Answer(reactor, response));
  return reactor;
}

}  // namespace selari
