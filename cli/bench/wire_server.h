// WireServer: what one session of `selari bench wire` is measured against: a
// real parameter server as `selari server` runs it, without a coordinator, and
// beside it the bare byte streams and the raw TCP server.
//
// Thread safety: one thread calls; the servers have threads of their own.

#ifndef SELARI_CLI_BENCH_WIRE_SERVER_H_
#define SELARI_CLI_BENCH_WIRE_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/bench/byte_stream_service.h"
#include "cli/bench/raw_server.h"
#include "cli/bench/socket.h"
#include "cli/bench/wire_job.h"
#include "common/clock.h"
#include "common/posix_file_env.h"
#include "server/rpc/parameter_service.h"
#include "server/rpc/rpc_server.h"
#include "server/rpc/shard_service.h"
#include "server/shard/shard_host.h"
#include "server/shard_control/local_shard_control.h"

namespace selari {

class WireServer {
 public:
  // gRPC listens on `grpc_address`. Shards are assigned by the client through
  // ShardService. Errors as RpcServer::Start; RESOURCE_EXHAUSTED when the
  // machine has too little memory for the shape.
  static absl::StatusOr<std::unique_ptr<WireServer>> Start(
      const WireShape& shape, const std::string& grpc_address);
  // Ends all connections.
  ~WireServer();

  // Also the incarnation of the parameter server.
  uint64_t token() const { return token_; }
  int grpc_port() const { return rpc_server_->port(); }
  RawServer* raw() { return &raw_; }

 private:
  WireServer(const WireShape& shape, std::shared_ptr<const ShardJob> job);
  absl::Status Listen(const std::string& address);

  const uint64_t token_;
  const SystemClock clock_;
  PosixFileEnv file_env_;
  std::unique_ptr<ShardHost> host_;
  std::unique_ptr<LocalShardControl> control_;
  std::unique_ptr<ParameterService> parameter_service_;
  std::unique_ptr<ShardService> shard_service_;
  ByteStreamService byte_streams_;
  RawServer raw_;
  // Ends before all that it serves.
  std::unique_ptr<RpcServer> rpc_server_;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_WIRE_SERVER_H_
