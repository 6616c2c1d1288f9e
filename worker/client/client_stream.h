// ClientStream: the client's end of one StreamParameters call: from the hello
// to the end of the call, once. ServerLink opens a new one after each end.
//
// Thread safety: all methods from any thread. As on the server, gRPC's Start
// methods are called with mu_ held; gRPC runs no reaction inside them.

#ifndef SELARI_WORKER_CLIENT_CLIENT_STREAM_H_
#define SELARI_WORKER_CLIENT_CLIENT_STREAM_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/shared_memory.h"
#include "common/wire.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/client_callback.h"
#include "worker/client/shard_transport.h"

namespace selari {

class ClientStream final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Called from gRPC's threads, one call at a time, OnEnd and OnGone last.
  class Owner {
   public:
    virtual ~Owner() = default;
    // An error ends the stream with it.
    virtual absl::Status OnFrame(ReplyFrame frame) = 0;
    // The call is over: lets go of the stream.
    virtual void OnEnd(const absl::Status& status) = 0;
    // Everything of the call is released, and the owner is called no more. An
    // owner must hold the channel until then: its last holder joins gRPC's
    // callback threads, and on one of those it would join itself (gRPC 1.51
    // then aborts with "prior > 0").
    virtual void OnGone() = 0;
  };

  // Opens the call and sends the hello; waits for the server to be there as
  // long as it takes. `owner` outlives OnGone.
  // Requests go out in frames of about `frame_bytes_max`. `shared`: the memory
  // that the hello offers, or null.
  static std::shared_ptr<ClientStream> Start(
      const std::shared_ptr<grpc::Channel>& channel, const StreamHello& hello,
      int64_t frame_bytes_max, std::shared_ptr<SharedMemory> shared,
      Owner* owner);

  // The server has opened the offered memory: uses it from now on. Before the
  // first Send.
  void UseSharedMemory();
  // Queues requests behind those before. Dropped when the call is over.
  void Send(std::vector<ShardRequest> requests);
  // Sends an empty frame unless something else is being sent.
  void SendHeartbeat();
  // Breaks the call off; OnEnd follows.
  void Cancel();

  // Adds what this stream has moved so far.
  void AddStats(TransportStats* stats) const;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  ClientStream(const std::shared_ptr<grpc::Channel>& channel,
               int64_t frame_bytes_max, std::shared_ptr<SharedMemory> shared,
               Owner* owner)
      : owner_(owner),
        frame_bytes_max_(frame_bytes_max),
        shared_(std::move(shared)),
        stub_(channel) {}

  void Write(const grpc::ByteBuffer& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // REQUIRES: requests wait.
  void WriteRequests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Owner* const owner_;
  const int64_t frame_bytes_max_;
  const std::shared_ptr<SharedMemory> shared_;
  grpc::GenericStub stub_;
  grpc::ClientContext context_;

  // Only reactions to reads use it, one at a time.
  grpc::ByteBuffer read_frame_;

  mutable Mutex mu_;
  // gRPC's hold on this object, until OnDone.
  std::shared_ptr<ClientStream> self_ ABSL_GUARDED_BY(mu_);
  std::deque<ShardRequest> queue_ ABSL_GUARDED_BY(mu_);
  bool sharing_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  // Why we broke the call off ourselves; OK otherwise.
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  grpc::ByteBuffer write_frame_ ABSL_GUARDED_BY(mu_);
  TransportStats stats_ ABSL_GUARDED_BY(mu_);
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_CLIENT_STREAM_H_
