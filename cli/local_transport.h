// LocalTransport: a ShardTransport straight onto a ShardHost in this process:
// no RPC, no serialisation, no copy of a tensor.
//
// Thread safety: as ShardTransport.

#ifndef SELARI_CLI_LOCAL_TRANSPORT_H_
#define SELARI_CLI_LOCAL_TRANSPORT_H_

#include <memory>

#include "common/shard_message.h"
#include "server/shard/shard_host.h"
#include "worker/client/shard_transport.h"

namespace selari {

// `host` outlives the transport's Stop. Its Start fails with
// FAILED_PRECONDITION unless the host has every shard of its job.
std::unique_ptr<ShardTransport> MakeLocalTransport(
    ShardHost* host, const WorkerIdentity& worker);

}  // namespace selari

#endif  // SELARI_CLI_LOCAL_TRANSPORT_H_
