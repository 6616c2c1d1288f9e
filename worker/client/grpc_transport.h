// GrpcTransport: a ShardTransport over StreamParameters calls to each server of
// a shard map, each on a connection of its own. Several calls to one server
// share its shards out, so that one can be read while another is handled.
//
// A connection that breaks is opened again, at most a second apart, until it
// has been away for give_up_ms. A server that refuses (other job), or that
// restarted and so lost its weights, fails the transport at once. In a job of
// DURABILITY_JOURNALED a server that restarted gets its weights back: it is
// waited for until UseMap names its new life, and gets nothing before.
//
// A server on the same machine is offered shared memory (common/shared_memory):
// gradients then stay where they are for it to read, and it writes weights to
// where they are wanted. Whether it takes the offer is its own choice.
//
// Thread safety: as ShardTransport.

#ifndef SELARI_WORKER_CLIENT_GRPC_TRANSPORT_H_
#define SELARI_WORKER_CLIENT_GRPC_TRANSPORT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/shard_message.h"
#include "common/wire.h"
#include "selari/v1/coordinator_service.pb.h"
#include "selari/v1/job.pb.h"
#include "worker/client/shard_transport.h"

namespace grpc {
class ChannelCredentials;
}  // namespace grpc

namespace selari {

// Measured best on two cores and loopback; see docs/PERFORMANCE.md.
constexpr int32_t kStreamsPerServer = 4;

struct GrpcTransportOptions {
  // Calls to each server, >= 1; at most one for each of its shards.
  int32_t streams_per_server = kStreamsPerServer;
  // About how many bytes go out as one message, > 0.
  int64_t frame_bytes_max = kFrameBytesMax;
  // How long a server may be away before the transport gives up, > 0.
  int64_t give_up_ms = 300'000;
  // Told for people, one sentence: which servers are missing, since when and
  // when it gives up. First after waiting_first_ms, then at the interval.
  // Called from a thread of the transport; must not block. Null: nobody.
  std::function<void(const std::string&)> on_waiting;
  int64_t waiting_first_ms = 2'000;
  int64_t waiting_interval_ms = 10'000;
  // False: no server is offered shared memory.
  bool offer_shared_memory = true;
  // Null: insecure.
  std::shared_ptr<grpc::ChannelCredentials> credentials;
};

// A transport for the worker to the servers of the map. Nothing is dialled
// before Start. INVALID_ARGUMENT when the map does not fit the job.
absl::StatusOr<std::unique_ptr<ShardTransport>> MakeGrpcTransport(
    const v1::ResolvedJob& job, const v1::ShardMap& shard_map,
    const WorkerIdentity& worker, const GrpcTransportOptions& options);

// The same with default options, and give_up_ms from cluster.join_timeout_s;
// waiting is told on standard error.
absl::StatusOr<std::unique_ptr<ShardTransport>> MakeGrpcTransport(
    const v1::ResolvedJob& job, const v1::ShardMap& shard_map,
    const WorkerIdentity& worker);

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_GRPC_TRANSPORT_H_
