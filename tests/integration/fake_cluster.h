// Servers with fake shards behind real gRPC on loopback, for tests of what
// lies between worker and shard.

#ifndef SELARI_TESTS_INTEGRATION_FAKE_CLUSTER_H_
#define SELARI_TESTS_INTEGRATION_FAKE_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "selari/v1/coordinator_service.pb.h"
#include "server/rpc/fake_shard_host.h"
#include "server/rpc/parameter_service.h"
#include "server/rpc/rpc_server.h"

namespace selari {

// One server process, in this process.
class FakeServer {
 public:
  FakeServer(const std::vector<std::pair<std::string, int64_t>>& tensors,
             std::vector<int32_t> shards, uint64_t incarnation,
             const std::string& address = "127.0.0.1:0")
      : host_(tensors, std::move(shards)), incarnation_(incarnation) {
    ParameterService::Options options;
    options.server_incarnation = incarnation;
    service_ = std::make_unique<ParameterService>(&host_, options);
    RpcServer::Options server_options;
    server_options.address = address;
    auto server = RpcServer::Start(server_options, {service_.get()});
    SELARI_CHECK(server.ok());
    server_ = *std::move(server);
  }
  ~FakeServer() { Kill(); }

  // Ends all calls and takes no more; the host stays to be looked at.
  void Kill() {
    service_->Drain(1000);
    server_->Shutdown(0);
  }

  FakeShardHost* host() { return &host_; }
  ParameterService* service() { return service_.get(); }
  uint64_t incarnation() const { return incarnation_; }
  std::string address() const {
    return absl::StrCat("127.0.0.1:", server_->port());
  }

 private:
  FakeShardHost host_;
  const uint64_t incarnation_;
  std::unique_ptr<ParameterService> service_;
  std::unique_ptr<RpcServer> server_;
};

// Two shards: shard i on the server with index owners[i].
inline v1::ShardMap MapOf(const std::vector<FakeServer*>& servers,
                          const std::vector<int32_t>& owners) {
  v1::ShardMap map;
  map.set_version(1);
  for (size_t i = 0; i < servers.size(); ++i) {
    v1::ServerEntry* entry = map.add_servers();
    entry->set_server_id(static_cast<int32_t>(i));
    entry->set_address(servers[i]->address());
    entry->set_incarnation(servers[i]->incarnation());
  }
  for (const int32_t owner : owners) {
    map.add_shard_owners(owner);
  }
  return map;
}

}  // namespace selari

#endif  // SELARI_TESTS_INTEGRATION_FAKE_CLUSTER_H_
