// The placement of logical shards on servers.

#ifndef SELARI_SERVER_COORDINATOR_SHARD_MAP_H_
#define SELARI_SERVER_COORDINATOR_SHARD_MAP_H_

#include <cstdint>
#include <vector>

#include "selari/v1/coordinator_service.pb.h"
#include "server/coordinator/membership.h"

namespace selari {

// The first map of a job, version 1: shard i on server i mod N. Shards carry
// equal bytes, so servers differ by at most one shard. REQUIRES: servers is
// not empty, in order of id from 0, and all have joined.
v1::ShardMap MakeFirstShardMap(const std::vector<Member>& servers,
                               int32_t shard_count);

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_SHARD_MAP_H_
