// ParameterStream: the server's end of one StreamParameters call. A thin
// reactor: frames become requests for the ShardHost, replies queue up and go
// out as frames of at most kFrameBytesMax, one at a time.
//
// Memory: replies hold published weights by reference. While more than
// outgoing_bytes_max of them wait for a slow reader, nothing more is read from
// it, nor while more than incoming_bytes_max of its gradients wait for a shard:
// then HTTP/2's flow control slows the sender down. It may have at most
// unanswered_max requests open.
//
// A client of this machine may offer shared memory in its hello. Its gradients
// are then read where they lie, and weights are written to where it wants them
// by the thread that answers.
//
// Thread safety: gRPC's reactions and the shards' replies come from any thread
// and meet under mu_. gRPC never runs a reaction inside StartRead, StartWrite
// or Finish on a thread of ours, so those are called with mu_ held: that is
// what keeps a Finish from slipping between a check and a StartWrite.

#ifndef SELARI_SERVER_RPC_PARAMETER_STREAM_H_
#define SELARI_SERVER_RPC_PARAMETER_STREAM_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/shared_memory.h"
#include "common/wire.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/live_calls.h"
#include "server/shard/shard_host.h"

namespace selari {

// What all streams of a service share.
struct StreamSettings {
  ShardHost* host = nullptr;  // outlives the streams
  LiveCalls* live_calls = nullptr;
  uint64_t server_incarnation = 0;
  int64_t outgoing_bytes_max = 0;
  int64_t incoming_bytes_max = 0;
  int64_t unanswered_max = 0;
};

class ParameterStream final
    : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
      public ReplySink,
      public LiveCall,
      public std::enable_shared_from_this<ParameterStream> {
 public:
  // The reactor to hand to gRPC. It lives until gRPC and the host have let go.
  static ParameterStream* Start(const StreamSettings& settings,
                                grpc::CallbackServerContext* context);

  void OnReplies(std::vector<ShardReply> replies) override;
  void OnHandled(int64_t gradient_bytes) override;
  void End(const absl::Status& status) override;
  void Abort() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  ParameterStream(const StreamSettings& settings,
                  grpc::CallbackServerContext* context)
      : settings_(settings), context_(context) {}

  // An error ends the stream.
  absl::Status TakeFrame(RequestFrame frame);
  absl::Status TakeHello(const RequestFrame& frame);
  absl::Status TakeRequests(RequestFrame frame);

  // Writes weights to where the client wants them, where that was said.
  void WriteWeights(std::vector<ShardReply>* replies) const;
  // Starts whatever read, write or finish is possible now.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Write(const grpc::ByteBuffer& frame) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Enqueue(std::vector<ShardReply> replies)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const StreamSettings settings_;

  // Only reactions to reads use these, one at a time.
  grpc::ByteBuffer read_frame_;
  std::optional<ShardHost::SessionId> session_;

  // Set before the host knows this stream, constant from then on. Null: none.
  std::shared_ptr<SharedMemory> shared_;

  Mutex mu_;
  // gRPC's hold on this object, until OnDone.
  std::shared_ptr<ParameterStream> self_ ABSL_GUARDED_BY(mu_);
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mu_);
  bool registered_ ABSL_GUARDED_BY(mu_) = false;
  bool greeted_ ABSL_GUARDED_BY(mu_) = false;
  bool reading_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool submitting_ ABSL_GUARDED_BY(mu_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  // Set once: what to finish with when no write is under way.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mu_);
  // Pushes and pulls that the shards have not answered.
  int64_t unanswered_ ABSL_GUARDED_BY(mu_) = 0;
  // Gradients that wait in the shards' queues.
  int64_t incoming_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<ShardReply> queue_ ABSL_GUARDED_BY(mu_);
  int64_t queue_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  grpc::ByteBuffer write_frame_ ABSL_GUARDED_BY(mu_);
};

}  // namespace selari

#endif  // SELARI_SERVER_RPC_PARAMETER_STREAM_H_
