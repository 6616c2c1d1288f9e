// ShardTransport: carries requests to the shards, wherever they are, and
// brings their replies back. Two implementations: GrpcTransport (streams to
// server processes) and cli's LocalTransport (a ShardHost in this process).
//
// Thread safety: Send and Stats from any thread. The listener is called from
// the transport's own threads, one call at a time for each shard.

#ifndef SELARI_WORKER_CLIENT_SHARD_TRANSPORT_H_
#define SELARI_WORKER_CLIENT_SHARD_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "common/float_buffer.h"
#include "common/shard_message.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

struct TransportStats {
  // As messages and through shared memory; 0 in process.
  int64_t bytes_sent = 0;
  int64_t bytes_received = 0;
  // Of both, through shared memory.
  int64_t bytes_shared = 0;
};

class ShardTransport {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnReplies(std::vector<ShardReply> replies) = 0;
    // A connection to these shards is there, for the first time or again.
    // Returns, in order, all that they have not answered: it goes out before
    // whatever Send is given from now on.
    virtual std::vector<ShardRequest> OnConnected(
        const std::vector<int32_t>& shards) = 0;
    // The transport gave up on some shards; nothing more will come from them.
    // At most one call.
    virtual void OnFailed(const absl::Status& status) = 0;
  };

  virtual ~ShardTransport() = default;

  // Connects to every shard; waits at most `timeout_ms`. UNAVAILABLE names
  // the servers that are missing; a refusal (other job, restarted server) is
  // returned at once. `listener` outlives Stop(). Call once.
  virtual absl::Status Start(Listener* listener, int64_t timeout_ms) = 0;
  // Makes a Start that waits, or is still to come, return soon with CANCELLED.
  // From any thread. One that never waits has nothing to do.
  virtual void InterruptStart() {}
  // Takes requests for any shards, without blocking. Order is kept for each
  // shard. Requests sent while a connection is down are dropped: OnConnected
  // asks for them again.
  virtual void Send(std::vector<ShardRequest> requests) = 0;
  // Blocks while the pushes that some server has not answered exceed the
  // window it grants. Not from a listener's call, whose replies it waits for.
  virtual void WaitForWindow() = 0;
  // Ends all connections; no call of the listener follows. Not from a
  // listener's call.
  virtual void Stop() = 0;
  virtual TransportStats Stats() const = 0;
  // The servers of a newer map: those that changed are connected anew, and
  // OnConnected asks for what they owe. An older map changes nothing.
  // FAILED_PRECONDITION, and nothing changes, when shards are placed otherwise.
  // Does not block; from any thread but a listener's call, also while Start
  // waits. A transport without servers has nothing to do.
  virtual absl::Status UseMap(const v1::ShardMap& /*map*/) {
    return absl::OkStatus();
  }
  // Some connection is down, so that a newer map may be needed. From any
  // thread.
  virtual bool SomeServerIsAway() const { return false; }
  // Memory for gradients and weights of this transport's requests, such as
  // reaches the shards fastest. After Start, from any thread.
  virtual std::shared_ptr<FloatBuffer> NewBuffer(int64_t floats) {
    return FloatBuffer::Allocate(floats);
  }
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_SHARD_TRANSPORT_H_
