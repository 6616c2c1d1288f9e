#include "server/rpc/parameter_service.h"

#include <memory>
#include <utility>

#include "common/grpc_status.h"
#include "common/status.h"
#include "server/rpc/shard_call.h"
#include "server/rpc/tensor_calls.h"

namespace selari {
namespace {

grpc::ServerUnaryReactor* FinishWith(grpc::CallbackServerContext* context,
                                     const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

absl::StatusOr<ShardCall::Question> AskForPull(
    const ShardHost& host, const v1::PullTensorRequest& request,
    v1::PullTensorResponse* response) {
  SELARI_ASSIGN_OR_RETURN(TensorRange range, FindRange(host, request));
  ShardCall::Question question;
  // An observer: pulls only, disturbs nobody.
  question.caller.worker_id = -1;
  question.requests = PullsOf(range, request.min_version());
  question.answer = [range = std::move(range),
                     response](const std::vector<ShardReply>& replies) {
    return FillPieces(range, replies, response);
  };
  return question;
}

absl::StatusOr<ShardCall::Question> AskForPush(
    const ShardHost& host, const v1::PushGradientRequest& request,
    v1::PushGradientResponse* response) {
  // A shard may keep a gradient longer than the call lasts.
  const auto copy = std::make_shared<const v1::PushGradientRequest>(request);
  ShardCall::Question question;
  question.caller = {request.worker_id(), request.worker_incarnation()};
  SELARI_ASSIGN_OR_RETURN(question.requests, PushesOf(host, copy));
  question.answer = [copy, response](const std::vector<ShardReply>& replies) {
    return FillAcks(*copy, replies, response);
  };
  return question;
}

}  // namespace

ParameterService::ParameterService(ShardHost* host, const Options& options)
    : host_(host),
      live_calls_(options.calls_max),
      settings_{host,
                &live_calls_,
                options.server_incarnation,
                options.outgoing_bytes_max,
                options.incoming_bytes_max,
                options.unanswered_max} {}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>*
ParameterService::StreamParameters(grpc::CallbackServerContext* context) {
  return ParameterStream::Start(settings_, context);
}

grpc::ServerUnaryReactor* ParameterService::ListTensors(
    grpc::CallbackServerContext* context, const v1::ListTensorsRequest* request,
    v1::ListTensorsResponse* response) {
  return FinishWith(context, selari::ListTensors(*host_, *request, response));
}

grpc::ServerUnaryReactor* ParameterService::GetTensor(
    grpc::CallbackServerContext* context, const v1::GetTensorRequest* request,
    v1::GetTensorResponse* response) {
  return FinishWith(context,
                    selari::GetTensor(*host_, request->name(), response));
}

grpc::ServerUnaryReactor* ParameterService::PullTensor(
    grpc::CallbackServerContext* context, const v1::PullTensorRequest* request,
    v1::PullTensorResponse* response) {
  return ShardCall::Start(host_, &live_calls_, context,
                          AskForPull(*host_, *request, response));
}

grpc::ServerUnaryReactor* ParameterService::PushGradient(
    grpc::CallbackServerContext* context,
    const v1::PushGradientRequest* request,
    v1::PushGradientResponse* response) {
  return ShardCall::Start(host_, &live_calls_, context,
                          AskForPush(*host_, *request, response));
}

}  // namespace selari
