// RpcServer: the gRPC server of a process, with reflection and the standard
// health service beside the services it is given.
//
//   RpcServer::Options options;
//   options.address = "127.0.0.1:0";
//   options.health_names = {"selari.v1.ParameterService"};
//   SELARI_ASSIGN_OR_RETURN(auto server, RpcServer::Start(options,
//   {&service}));
//   ... server->SetServing(true) once the shards are there ...
//   server->SetServing(false);   // balancers and probes look away
//   service.Drain(...);          // ends long streams
//   server->Shutdown(...);
//
// Thread safety: all methods from any thread, Shutdown once.

#ifndef SELARI_SERVER_RPC_RPC_SERVER_H_
#define SELARI_SERVER_RPC_RPC_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"

namespace selari {

class RpcServer {
 public:
  struct Options {
    // host:port to listen on. Port 0: any free one. Loopback by default, as
    // nothing is encrypted unless credentials are given.
    std::string address = "127.0.0.1:0";
    // Who may connect, and how it is encrypted. Null: anyone, not encrypted.
    std::shared_ptr<grpc::ServerCredentials> credentials;
    // Services whose health is NOT_SERVING until SetServing(true), by full
    // name. The health of "", the process itself, is SERVING from the start.
    std::vector<std::string> health_names;
    // Calls that one connection may have open at once, > 0.
    int32_t calls_per_connection_max = 256;
  };

  // Listens and serves. `services` outlive the server. FAILED_PRECONDITION
  // (port in use), PERMISSION_DENIED, INVALID_ARGUMENT (no such address):
  // the message names the address and what the system said.
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(
      const Options& options, const std::vector<grpc::Service*>& services);

  RpcServer(const RpcServer&) = delete;
  RpcServer& operator=(const RpcServer&) = delete;
  // Shuts down at once unless Shutdown was called.
  ~RpcServer();

  // The port that is listened on.
  int port() const { return port_; }

  // The health of all health_names.
  void SetServing(bool serving);

  // Takes no more calls, waits at most `timeout_ms` for those under way, then
  // cancels them. An open stream takes the whole time: end those first.
  void Shutdown(int64_t timeout_ms);

 private:
  RpcServer(Options options, std::unique_ptr<grpc::Server> server, int port);

  const Options options_;
  const std::unique_ptr<grpc::Server> server_;
  const int port_;
};

}  // namespace selari

#endif  // SELARI_SERVER_RPC_RPC_SERVER_H_
