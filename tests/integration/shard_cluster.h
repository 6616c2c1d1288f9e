// Real shards behind real gRPC on loopback, in this process.

#ifndef SELARI_TESTS_INTEGRATION_SHARD_CLUSTER_H_
#define SELARI_TESTS_INTEGRATION_SHARD_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "selari/v1/coordinator_service.pb.h"
#include "selari/v1/job.pb.h"
#include "server/rpc/parameter_service.h"
#include "server/rpc/rpc_server.h"
#include "server/shard/shard_host.h"
#include "server/shard/shard_job.h"

namespace selari {

class ShardCluster {
 public:
  // Shard i is placed on server i mod servers.
  ShardCluster(const v1::ResolvedJob& job, int32_t servers) {
    const auto shard_job = ShardJob::Create(job);
    SELARI_CHECK(shard_job.ok());
    const int32_t shard_count = (*shard_job)->layout.shard_count();
    map_.set_version(1);
    for (int32_t i = 0; i < servers; ++i) {
      std::vector<int32_t> shards;
      for (int32_t shard = i; shard < shard_count; shard += servers) {
        shards.push_back(shard);
      }
      servers_.push_back(std::make_unique<Server>(*shard_job, shards, i));
      v1::ServerEntry* entry = map_.add_servers();
      entry->set_server_id(i);
      entry->set_address(
          absl::StrCat("127.0.0.1:", servers_.back()->rpc->port()));
      entry->set_incarnation(servers_.back()->incarnation);
    }
    for (int32_t shard = 0; shard < shard_count; ++shard) {
      map_.add_shard_owners(shard % servers);
    }
  }

  const v1::ShardMap& map() const { return map_; }

  // Breaks off all streams of one server.
  void BreakCalls(int32_t server) {
    servers_[server]->service->BreakCallsForTest();
  }

 private:
  struct Server {
    Server(std::shared_ptr<const ShardJob> job,
           const std::vector<int32_t>& shards, int32_t id)
        : incarnation(1000 + id), host(ShardHost::Create({})) {
      SELARI_CHECK(host->Initialize(std::move(job), shards).ok());
      ParameterService::Options options;
      options.server_incarnation = incarnation;
      service = std::make_unique<ParameterService>(host.get(), options);
      auto started = RpcServer::Start({}, {service.get()});
      SELARI_CHECK(started.ok());
      rpc = *std::move(started);
    }
    ~Server() {
      service->Drain(1000);
      rpc->Shutdown(0);
    }

    const uint64_t incarnation;
    const std::unique_ptr<ShardHost> host;
    std::unique_ptr<ParameterService> service;
    std::unique_ptr<RpcServer> rpc;
  };

  v1::ShardMap map_;
  std::vector<std::unique_ptr<Server>> servers_;
};

}  // namespace selari

#endif  // SELARI_TESTS_INTEGRATION_SHARD_CLUSTER_H_
