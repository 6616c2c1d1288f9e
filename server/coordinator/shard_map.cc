#include "server/coordinator/shard_map.h"

#include "common/check.h"

namespace selari {

v1::ShardMap MakeFirstShardMap(const std::vector<Member>& servers,
                               int32_t shard_count) {
  SELARI_CHECK(!servers.empty());
  v1::ShardMap map;
  map.set_version(1);
  for (const Member& server : servers) {
    SELARI_CHECK(server.ever_joined());
    v1::ServerEntry* entry = map.add_servers();
    entry->set_server_id(server.id);
    entry->set_address(server.address);
    entry->set_incarnation(server.incarnation);
  }
  for (int32_t shard = 0; shard < shard_count; ++shard) {
    map.add_shard_owners(servers[shard % servers.size()].id);
  }
  return map;
}

}  // namespace selari
