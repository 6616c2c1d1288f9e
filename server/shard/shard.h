// Shard: one logical shard as a deterministic state machine. Requests go in,
// replies come out; no thread, clock or I/O inside, so that a simulation can
// drive it as well as ShardHost.
//
//   push -> admission -> reducer -> op -> OpObserver -> ShardState::Apply
//        -> acknowledgements, waiting pulls, captures
//
// Admission refuses what is wrong and answers repeats. The reducer (SYNC) keeps
// the parts of a step's gradient until they cover all leaves; in BOUNDED and
// ASYNC each push is an op of its own.
//
// Not thread-safe. A reply for a session that has been closed may be dropped.

#ifndef SELARI_SERVER_SHARD_SHARD_H_
#define SELARI_SERVER_SHARD_SHARD_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "common/shard_message.h"
#include "server/shard/admission.h"
#include "server/shard/capture_list.h"
#include "server/shard/contribution_set.h"
#include "server/shard/pull_queue.h"
#include "server/shard/session_table.h"
#include "server/shard/shard_counters.h"
#include "server/shard/shard_state.h"

namespace selari {

class Shard {
 public:
  struct Reply {
    SessionId session;
    ShardReply reply;
  };
  using Replies = std::vector<Reply>;
  // Sees each op before it is applied.
  using OpObserver = std::function<void(const ShardOp&)>;
  // Where the log of a shard stands.
  struct LogPosition {
    int64_t next = 0;  // number of the next op
    // No op of the state's greatest version, or a later one, is before.
    int64_t version_begin = 0;
  };

  explicit Shard(std::unique_ptr<ShardState> state,
                 OpObserver observer = nullptr);
  // With a log, which `observer` writes: acknowledgements say so.
  Shard(std::unique_ptr<ShardState> state, LogPosition log,
        OpObserver observer);

  // Opens a session; a worker's session is told the recent partial sums, and
  // from now on each one that becomes known.
  void OpenSession(SessionId session, const WorkerIdentity& worker,
                   Replies* replies);
  // Forgets the session; what it pushed still counts.
  void CloseSession(SessionId session);
  // The shard went back to an earlier state: what sessions up to this one ask
  // for is of a time that did not happen, and refused with kStaleIncarnation.
  void RefuseSessionsUpTo(SessionId session) { last_stale_session_ = session; }

  // Takes one request. Each push and pull of an open session is answered by
  // exactly one reply, now or later; totals only when they are refused.
  // REQUIRES: the chunk or shard it names is of this shard.
  void Handle(SessionId session, ShardRequest request, Replies* replies);

  // BOUNDED: the workers that the bound counts, at first all of the job's;
  // none: no bound.
  void SetWorkers(std::vector<int32_t> worker_ids, Replies* replies);

  // As ShardHost::Capture, for this shard.
  void Capture(int64_t step, bool stop, ShardCaptureCallback done,
               Replies* replies);

  // Answers everything that waits with this refusal; for a shard that ends.
  void RefuseWaiting(const Refusal& refusal, Replies* replies);
  // The same, and all that comes from now on, captures too: the state is not
  // to be relied on any more.
  void Close(const Refusal& refusal, Replies* replies);
  bool closed() const { return closed_.has_value(); }
  // What is being captured ends with CANCELLED.
  void DropCaptures() { captures_.Clear(); }

  const ShardState& state() const { return *state_; }
  const ShardCounters& counters() const { return counters_; }
  int64_t waiting_pulls() const { return pulls_.size(); }

 private:
  struct WaitingPush {
    SessionId session;
    int64_t step;
    int64_t sequence;
  };
  // SYNC: what has come for a chunk and is not applied.
  struct Incoming {
    // Of the chunk's step and the next one, by step % 2.
    std::array<ContributionSet, 2> steps;
    std::vector<WaitingPush> pushes;
  };
  // Pushes that may wait for one chunk, > 2 * leaves * workers in practice.
  static constexpr size_t kWaitingPushesMax = 4096;

  void RefuseRequest(SessionId session, const ShardRequest& request,
                     const Refusal& refusal, Replies* replies);
  PushAck AckOf(const WaitingPush& push, int32_t chunk, int64_t version) const;
  void HandlePush(SessionId session, ChunkPush push, Replies* replies);
  void TakeSyncPush(SessionId session, ChunkPush push, Replies* replies);
  void TakeOrderedPush(SessionId session, const WorkerIdentity& worker,
                       ChunkPush push, Replies* replies);
  void HandlePull(SessionId session, const ChunkPull& pull, Replies* replies);
  void HandleTotals(SessionId session, ReductionTotals totals,
                    Replies* replies);

  void ReduceIfComplete(size_t index, Replies* replies);
  void Commit(const ShardOp& op, Replies* replies);
  void OnUpdate(size_t index, Replies* replies);

  bool Ready(size_t index, const ChunkPull& pull) const;
  bool Hopeless(const ChunkPull& pull) const;
  void AnswerPull(SessionId session, const ChunkPull& pull, Replies* replies);
  void AnswerWaitingPulls(Replies* replies);
  void StopAt(int64_t step, Replies* replies);
  int64_t SlowestClock() const;
  void UpdateSlowestClock(Replies* replies);
  void Refuse(SessionId session, RequestError error, Replies* replies);

  const std::unique_ptr<ShardState> state_;
  const OpObserver observer_;
  SessionTable sessions_;
  SessionId last_stale_session_ = -1;  // ids rise
  std::optional<Refusal> closed_;
  std::optional<LogPosition> log_;
  std::vector<Incoming> incoming_;  // by the chunk's position; SYNC
  PullQueue pulls_;
  CaptureList captures_;
  std::optional<int64_t> stop_step_;  // no push of this step or a later one
  std::vector<int32_t> worker_ids_;   // BOUNDED
  int64_t slowest_clock_;             // BOUNDED: least clock of worker_ids_
  std::shared_ptr<const ReductionProgram> program_;  // of the last cover
  ApplyEffects effects_;  // memory that is used again
  ShardCounters counters_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_H_
