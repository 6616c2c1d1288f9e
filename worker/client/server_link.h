// ServerLink: a connection to one server for some shards, opened again whenever
// it breaks.
//
//   down -> connecting -> (hello answered) resending -> up -> down ...
//                      -> failed (for good)                -> stopped
//
// MoveTo leads it to another life of the server: a stream that is open is
// broken off (moving -> down), and the next one goes there. No request ever
// goes to a life of the server that neither the options nor MoveTo named.
//
// It has no thread of its own: whoever owns the link calls Tick.
//
// Thread safety: all methods from any thread. Lock order: ServerLink, then
// ClientStream or PushWindow. No lock is held while the listener or an event is
// called.

#ifndef SELARI_WORKER_CLIENT_SERVER_LINK_H_
#define SELARI_WORKER_CLIENT_SERVER_LINK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/chunk_layout.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "common/wire.h"
#include "grpcpp/channel.h"
#include "worker/client/backoff.h"
#include "worker/client/client_stream.h"
#include "worker/client/push_window.h"
#include "worker/client/shard_transport.h"

namespace selari {

class ServerLink final : private ClientStream::Owner {
 public:
  struct Options {
    int32_t server_id = 0;
    std::string address;
    // The life of the server that the shard map means; 0: any, but then
    // always the same.
    uint64_t incarnation = 0;
    // A server that restarts gets its shards back as they were: it is waited
    // for until MoveTo names its new life. False: they are gone, and the link
    // fails.
    bool server_may_return = false;
    // Logical shards that it hosts, as the map says, and that are asked for
    // here; not empty.
    std::vector<int32_t> shards;
    StreamHello hello;
    std::shared_ptr<const ChunkLayout> layout;
    const Clock* clock = nullptr;
    int64_t frame_bytes_max = kFrameBytesMax;
    // What is offered to the server, or null.
    std::shared_ptr<SharedMemory> shared_memory;
    int64_t backoff_first_ms = 50;
    int64_t backoff_max_ms = 1000;
  };
  enum class State {
    kDown,
    kConnecting,
    kResending,
    kUp,
    kMoving,
    kFailed,
    kStopped
  };
  struct Status {
    State state = State::kDown;
    // When it was last up, or created.
    int64_t since_ms = 0;
    // kFailed: why. Otherwise OK.
    absl::Status error;
    // The server has opened the offered memory. Stays as the last connection
    // had it.
    bool shares_memory = false;
  };

  // `listener` and `changed` (called after each change of state) outlive Stop.
  ServerLink(Options options, std::shared_ptr<grpc::Channel> channel,
             ShardTransport::Listener* listener, std::function<void()> changed);
  // REQUIRES: Stop was called.
  ~ServerLink() override = default;

  // Opens a stream if one is due, or keeps an open one awake. Returns when
  // (Clock::NowMs) to call again unless the state changes before.
  int64_t Tick();

  // The server lives here now: connects anew, at once. `incarnation` as in
  // Options. Does nothing once the link has failed or stopped. Not from gRPC's
  // threads, as it may let go of a channel.
  void MoveTo(const std::string& address, uint64_t incarnation,
              std::shared_ptr<grpc::Channel> channel);
  // What later streams say of the map in use.
  void set_shard_map_version(int64_t version);

  // See ShardTransport. Requests for this link's shards only.
  void Send(std::vector<ShardRequest> requests);
  void WaitForWindow() { window_.Wait(); }
  // WaitForWindow returns at once from now on: the transport failed.
  void StopWaiting();
  // Ends the stream and waits until its last callback is over.
  void Stop();

  Status status() const;
  // "server 1 at host:port".
  std::string name() const;
  // What is wrong while the link is not up, for people: why the last attempt
  // ended, or that nobody answers; begins with the name.
  std::string Trouble() const;
  const std::vector<int32_t>& shards() const { return options_.shards; }
  TransportStats Stats() const;

 private:
  absl::Status OnFrame(ReplyFrame frame) override;
  void OnEnd(const absl::Status& status) override;
  void OnGone() override;

  absl::Status TakeHello(const StreamHelloReply& reply);
  absl::Status CheckHello(const StreamHelloReply& reply)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Restarted(uint64_t incarnation) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // How a stream ended; says so when it was not the server that was meant.
  absl::Status Explained(const absl::Status& status) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendLocked(std::vector<ShardRequest> requests)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;
  ShardTransport::Listener* const listener_;
  const std::function<void()> changed_;

  PushWindow window_;

  mutable Mutex mu_;
  CondVar stopped_;  // a stream's last callback is over
  std::string name_ ABSL_GUARDED_BY(mu_);
  StreamHello hello_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mu_);
  // Those before, held until no stream uses them: see ClientStream::OnGone.
  std::vector<std::shared_ptr<grpc::Channel>> old_channels_
      ABSL_GUARDED_BY(mu_);
  State state_ ABSL_GUARDED_BY(mu_) = State::kDown;
  absl::Status error_ ABSL_GUARDED_BY(mu_);  // of the last attempt, or OK
  int64_t since_ms_ ABSL_GUARDED_BY(mu_);
  int64_t next_attempt_ms_ ABSL_GUARDED_BY(mu_);
  Backoff backoff_ ABSL_GUARDED_BY(mu_);
  uint64_t incarnation_ ABSL_GUARDED_BY(mu_);
  bool shares_memory_ ABSL_GUARDED_BY(mu_) = false;
  bool stop_waiting_ ABSL_GUARDED_BY(mu_) = false;
  // Kept back while what was unanswered is collected.
  std::vector<ShardRequest> held_back_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<ClientStream> stream_ ABSL_GUARDED_BY(mu_);
  // Streams that are not gone.
  int32_t open_streams_ ABSL_GUARDED_BY(mu_) = 0;
  TransportStats ended_stats_ ABSL_GUARDED_BY(mu_);  // of earlier streams
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_SERVER_LINK_H_
