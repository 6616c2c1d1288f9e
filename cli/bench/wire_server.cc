#include "cli/bench/wire_server.h"

#include <utility>

#include "cli/bench/process_memory.h"
#include "common/executor.h"
#include "common/incarnation.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr int64_t kDrainTimeoutMs = 1000;

// Two versions of the shards' weights, one of the raw server's, the state of
// both optimizers, and gradients that wait.
int64_t MemoryNeed(const WireShape& shape) {
  constexpr int64_t kRest = int64_t{64} << 20;
  return shape.bytes() * (3 + 2 * shape.slots() + shape.workers) + kRest;
}

}  // namespace

absl::StatusOr<std::unique_ptr<WireServer>> WireServer::Start(
    const WireShape& shape, const std::string& grpc_address) {
  SELARI_RETURN_IF_ERROR(
      CheckFreeMemory(MemoryNeed(shape), "the server of the benchmark"));
  SELARI_ASSIGN_OR_RETURN(
      std::shared_ptr<const ShardJob> job,
      ShardJob::Create(MakeWireJob(shape, DetectIsaLevel())));
  std::unique_ptr<WireServer> server(new WireServer(shape, std::move(job)));
  SELARI_RETURN_IF_ERROR(server->Listen(grpc_address));
  return server;
}

WireServer::WireServer(const WireShape& shape,
                       std::shared_ptr<const ShardJob> job)
    : token_(NewIncarnation()), raw_(shape, std::move(job)) {
  host_ = ShardHost::Create(ShardHost::ServerOptions(/*threads=*/0));
  LocalShardControl::Options control;
  control.incarnation = token_;
  LocalShardControl::Environment environment;
  environment.host = host_.get();
  environment.file_env = &file_env_;
  environment.clock = &clock_;
  environment.control_executor = std::make_unique<ThreadExecutor>();
  environment.disk_executor = std::make_unique<ThreadExecutor>();
  control_ =
      std::make_unique<LocalShardControl>(control, std::move(environment));
  ParameterService::Options parameters;
  parameters.server_incarnation = token_;
  parameter_service_ =
      std::make_unique<ParameterService>(host_.get(), parameters);
  shard_service_ = std::make_unique<ShardService>(control_.get());
}

absl::Status WireServer::Listen(const std::string& address) {
  RpcServer::Options options;
  options.address = address;
  SELARI_ASSIGN_OR_RETURN(
      rpc_server_,
      RpcServer::Start(options, {parameter_service_.get(), shard_service_.get(),
                                 &byte_streams_}));
  return absl::OkStatus();
}

WireServer::~WireServer() {
  if (rpc_server_ != nullptr) {
    control_->Close();
    parameter_service_->Drain(kDrainTimeoutMs);
    rpc_server_->Shutdown(kDrainTimeoutMs);
  }
  rpc_server_.reset();
  control_.reset();
}

}  // namespace selari
