#include "server/rpc/rpc_server.h"

#include <chrono>
#include <utility>

#include "common/grpc_channel.h"
#include "common/status.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server_builder.h"
#include "server/rpc/listen_probe.h"

namespace selari {
namespace {

void SetArguments(const RpcServer::Options& options,
                  grpc::ServerBuilder* builder) {
  builder->SetMaxReceiveMessageSize(kGrpcMessageBytesMax);
  builder->SetMaxSendMessageSize(kGrpcMessageBytesMax);
  // With it a stale server at the same port would silently take a share of
  // the connections instead of the bind failing.
  builder->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder->AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                              options.calls_per_connection_max);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveTimeMs);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                              kKeepaliveTimeoutMs);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // The other half of the client's keepalive: pings at half its interval are
  // still welcome, also while no call is open.
  builder->AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kKeepaliveTimeMs / 2);
  builder->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                              kHttp2WindowBytes);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RpcServer>> RpcServer::Start(
    const Options& options, const std::vector<grpc::Service*>& services) {
  SELARI_RETURN_IF_ERROR(CheckHostPort(options.address));
  // Both register a plug-in for all builders of the process; repeating it is
  // harmless.
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetArguments(options, &builder);
  int port = 0;
  builder.AddListeningPort(options.address,
                           options.credentials != nullptr
                               ? options.credentials
                               : grpc::InsecureServerCredentials(),
                           &port);
  for (grpc::Service* service : services) {
    builder.RegisterService(service);
  }
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    SELARI_RETURN_IF_ERROR(ProbeListen(options.address));
    return absl::UnavailableError(absl::StrCat(
        "cannot listen on ", options.address, "; it may work when repeated"));
  }
  std::unique_ptr<RpcServer> result(
      new RpcServer(options, std::move(server), port));
  result->SetServing(false);
  return result;
}

RpcServer::RpcServer(Options options, std::unique_ptr<grpc::Server> server,
                     int port)
    : options_(std::move(options)), server_(std::move(server)), port_(port) {}

RpcServer::~RpcServer() { Shutdown(0); }

void RpcServer::SetServing(bool serving) {
  for (const std::string& name : options_.health_names) {
    server_->GetHealthCheckService()->SetServingStatus(name, serving);
  }
}

void RpcServer::Shutdown(int64_t timeout_ms) {
  server_->GetHealthCheckService()->Shutdown();
  server_->Shutdown(std::chrono::system_clock::now() +
                    std::chrono::milliseconds(timeout_ms));
  server_->Wait();
}

}  // namespace selari
