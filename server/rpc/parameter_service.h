// ParameterService: the data plane of a server process over gRPC. Every method
// hands over to the ShardHost at once; the logic stands in parameter_stream.h
// and tensor_calls.h.
//
//   ParameterService service(&host, options);
//   ... RpcServer::Start(..., {&service}) ...
//   service.Drain(1000);   // before RpcServer::Shutdown, and before the host
//                          // goes
//
// Thread safety: all methods from any thread.

#ifndef SELARI_SERVER_RPC_PARAMETER_SERVICE_H_
#define SELARI_SERVER_RPC_PARAMETER_SERVICE_H_

#include <cstdint>

#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "selari/v1/parameter_service.grpc.pb.h"
#include "server/rpc/live_calls.h"
#include "server/rpc/parameter_stream.h"
#include "server/shard/shard_host.h"

namespace selari {

// The stream takes and gives raw frames: common/wire.h turns them into
// requests and replies without a message object in between.
using ParameterServiceBase =
    v1::ParameterService::WithRawCallbackMethod_StreamParameters<
        v1::ParameterService::WithCallbackMethod_ListTensors<
            v1::ParameterService::WithCallbackMethod_GetTensor<
                v1::ParameterService::WithCallbackMethod_PullTensor<
                    v1::ParameterService::WithCallbackMethod_PushGradient<
                        v1::ParameterService::Service>>>>>;

class ParameterService final : public ParameterServiceBase {
 public:
  struct Options {
    // Random number of this life of the process, never 0.
    uint64_t server_incarnation = 0;
    // Weights that wait for the reader of one stream before no more of its
    // requests are read, > 0.
    int64_t outgoing_bytes_max = int64_t{32} << 20;
    // Gradients of one stream that wait for a shard before no more of its
    // requests are read, > 0.
    int64_t incoming_bytes_max = int64_t{8} << 20;
    // Pushes and pulls of one stream that wait for an answer, > 0. A model of
    // 256 GiB has so many chunks.
    int64_t unanswered_max = 1 << 20;
    // Streams and waiting calls at once, > 0.
    int32_t calls_max = 4096;
  };

  // `host` outlives the service.
  ParameterService(ShardHost* host, const Options& options);

  // Ends all streams and waiting calls with UNAVAILABLE, breaks off after
  // `timeout_ms` those whose reader does not read, and returns when none is
  // left. Later ones are refused.
  void Drain(int64_t timeout_ms) { live_calls_.Drain(timeout_ms); }

  // Breaks off all streams and waiting calls, as a lost connection does.
  void BreakCallsForTest() { live_calls_.AbortAll(); }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* StreamParameters(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* ListTensors(
      grpc::CallbackServerContext* context,
      const v1::ListTensorsRequest* request,
      v1::ListTensorsResponse* response) override;
  grpc::ServerUnaryReactor* GetTensor(grpc::CallbackServerContext* context,
                                      const v1::GetTensorRequest* request,
                                      v1::GetTensorResponse* response) override;
  grpc::ServerUnaryReactor* PullTensor(
      grpc::CallbackServerContext* context,
      const v1::PullTensorRequest* request,
      v1::PullTensorResponse* response) override;
  grpc::ServerUnaryReactor* PushGradient(
      grpc::CallbackServerContext* context,
      const v1::PushGradientRequest* request,
      v1::PushGradientResponse* response) override;

 private:
  ShardHost* const host_;
  LiveCalls live_calls_;
  const StreamSettings settings_;
};

}  // namespace selari

#endif  // SELARI_SERVER_RPC_PARAMETER_SERVICE_H_
