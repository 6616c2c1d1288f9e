// GrpcShardControl: the control plane of a server in another process.
//
// Every call waits for the server to come up, within its deadline: 10 s, and
// an hour for AssignShards and SaveShards, which last as long as the disk or
// the steps before the capture take.

#ifndef SELARI_SERVER_SHARD_CONTROL_GRPC_SHARD_CONTROL_H_
#define SELARI_SERVER_SHARD_CONTROL_GRPC_SHARD_CONTROL_H_

#include <memory>
#include <string>

#include "server/shard_control/shard_control.h"

namespace selari {

// `address` is host:port.
std::unique_ptr<ShardControl> MakeGrpcShardControl(const std::string& address);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CONTROL_GRPC_SHARD_CONTROL_H_
