// ShardRunner: runs some shards of a ShardHost, and their common queue. It has
// a thread for that; a thread that submits may run them too, when they are
// idle. Whoever runs them holds the runner (busy_): one at a time.
//
// Shards with a log: what they applied is committed before any reply goes out,
// one sync for all that was handled since the last.
//
// Two lanes lead to the shards. Requests wait their turn and while the runner
// is paused. Controls (a session opens, a capture begins) go before all
// waiting requests and run also while it is paused, on the runner's thread.
//
// Thread safety: public methods from any thread unless they say otherwise.

#ifndef SELARI_SERVER_SHARD_SHARD_RUNNER_H_
#define SELARI_SERVER_SHARD_SHARD_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "common/shard_message.h"
#include "server/shard/hosted_shard.h"
#include "server/shard/shard.h"
#include "server/shard/shard_host_types.h"

namespace selari {

// A client of the host. `open` turns false once.
struct HostSession {
  WorkerIdentity worker;
  std::shared_ptr<ReplySink> sink;
  std::atomic<bool> open{true};
};

class ShardRunner {
 public:
  // A request that has reserved its place in its shard's queue.
  struct Item {
    HostedShard* shard;
    SessionId session;
    ShardRequest request;
  };
  using Control = std::function<void()>;

  ShardRunner();
  // Ends the thread; what waits is dropped, controls too.
  ~ShardRunner();
  ShardRunner(const ShardRunner&) = delete;
  ShardRunner& operator=(const ShardRunner&) = delete;

  // Takes over the items. With `run`, handles them before it returns if nobody
  // else holds the runner.
  void Submit(absl::Span<Item> items, bool run);
  void Post(Control control);
  // Waits until no request is being handled; none is until Resume.
  void Pause();
  void Resume();

  // The rest belongs to whoever holds the runner: call it from a Control.
  // Starts a shard or replaces its machine; all sessions are open to it.
  void Host(HostedShard* shard, ShardSeat seat);
  void OpenSession(SessionId session, std::shared_ptr<HostSession> client);
  void CloseSession(SessionId session);
  void SetWorkers(const std::vector<int32_t>& worker_ids);
  // Replies that a Control may add to.
  Shard::Replies* replies() { return &replies_; }

 private:
  struct Client {
    std::shared_ptr<HostSession> session;
    std::vector<ShardReply> outbox;
    int64_t handled_bytes = 0;
    bool touched = false;
  };

  void Run();
  bool WaitForWork(std::vector<Control>* controls);
  bool RequestsWait() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !paused_ && (position_ < batch_.size() || !incoming_.empty());
  }
  void TakeBatch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Release() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunBatch();
  void NoteHandled(SessionId session, int64_t bytes);
  Client* Touch(SessionId session);
  void Deliver();
  void CommitLogs();
  void CloseShard(HostedShard* shard, const absl::Status& why);
  void PublishAll();

  // Set when the batch in progress should be left for something else.
  std::atomic<bool> attention_{false};
  // Some shard keeps a log, so that running it may wait for a disk.
  std::atomic<bool> keeps_logs_{false};
  Mutex mu_;
  CondVar changed_;
  std::vector<Item> incoming_ ABSL_GUARDED_BY(mu_);
  std::vector<Control> controls_ ABSL_GUARDED_BY(mu_);
  bool paused_ ABSL_GUARDED_BY(mu_) = false;
  bool busy_ ABSL_GUARDED_BY(mu_) = false;  // somebody holds the runner
  bool ending_ ABSL_GUARDED_BY(mu_) = false;

  // Whoever holds the runner only; batch_ and position_ also under mu_ while
  // nobody does.
  std::vector<Item> batch_;  // taken from incoming_
  size_t position_ = 0;      // next item of batch_
  std::vector<HostedShard*> shards_;
  // Ascending, as later lives of a worker fence earlier ones.
  std::map<SessionId, Client> clients_;
  std::optional<std::vector<int32_t>> worker_ids_;
  Shard::Replies replies_;
  std::vector<SessionId> touched_;  // clients to deliver something to

  std::thread thread_;  // last: starts when the rest is there
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_RUNNER_H_
