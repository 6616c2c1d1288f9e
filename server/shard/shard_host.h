// ShardHost: the logical shards of one process, on a small pool of threads.
//
// Each shard is a single-writer state machine (shard.h) with a bounded queue.
// It runs on a thread of the pool, always the same, or, when that is idle, on
// the thread that submits: one at a time, so the hot path takes no lock but its
// queue's. ShardHost knows no RPC: server/rpc and cli's in-process
// transport are its two callers.
//
// Thread safety: all methods from any thread. Callbacks run on shard threads
// or inside Submit, of whatever session; the host holds no lock meanwhile.
// They must return soon, must not block and must not call back into the host
// except for Submit.

#ifndef SELARI_SERVER_SHARD_SHARD_HOST_H_
#define SELARI_SERVER_SHARD_SHARD_HOST_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/shard_message.h"
#include "common/shard_snapshot.h"
#include "server/shard/shard_host_types.h"
#include "server/shard/shard_job.h"

namespace selari {

class ShardHost {
 public:
  struct Options {
    // Threads that run shards, >= 1.
    int32_t threads = 2;
    // Gradient bytes that wait in one shard's queue before pushes are refused
    // with kQueueFull, > 0.
    int64_t queue_bytes_max = int64_t{64} << 20;
    // Requests that wait in one shard's queue, > 0.
    int32_t queue_length_max = 65536;
    // Submit itself runs idle shards when it brings at most so many bytes of
    // gradient for them, >= 0; more is left to the shards' threads. Saves
    // waking a thread; -1: never.
    int64_t run_in_submit_bytes_max = 0;
  };
  // What suits a server process on this machine; `threads` 0: as many as there
  // are processors.
  static Options ServerOptions(int32_t threads);
  using SessionId = int64_t;
  using CaptureCallback =
      std::function<void(absl::StatusOr<std::vector<ShardSnapshot>>)>;

  static std::unique_ptr<ShardHost> Create(const Options& options);
  // Stops the threads; waiting requests are dropped unanswered.
  virtual ~ShardHost() = default;

  // Hosts `shards` of `job` with their initial values; blocks until they are
  // there. A shard that is hosted already stays as it is. FAILED_PRECONDITION
  // when shards of another job are hosted, INVALID_ARGUMENT for a number that
  // the job does not have.
  virtual absl::Status Initialize(std::shared_ptr<const ShardJob> job,
                                  const std::vector<int32_t>& shards) = 0;
  // The same, but shards that are hosted already go back to their initial
  // values: what waits for them is refused with kStaleIncarnation.
  virtual absl::Status Reinitialize(std::shared_ptr<const ShardJob> job,
                                    const std::vector<int32_t>& shards) = 0;
  // The same with the state of a checkpoint; each snapshot is one shard of
  // `job` with every chunk of the job's layout. INVALID_ARGUMENT otherwise,
  // and nothing is changed. A shard that is hosted already goes back to the
  // snapshot: what waits for it is refused with kStaleIncarnation.
  virtual absl::Status Restore(std::shared_ptr<const ShardJob> job,
                               std::vector<ShardSnapshot> snapshots) = 0;
  // The same, each shard with what its maker makes, on the shard's own thread;
  // a shard that is hosted already is replaced. The makers' first error, after
  // which what other makers made is hosted.
  virtual absl::Status Host(std::shared_ptr<const ShardJob> job,
                            std::map<int32_t, MakeShardSeat> makers) = 0;
  // Null before Initialize, Restore or Host.
  virtual std::shared_ptr<const ShardJob> job() const = 0;
  virtual std::vector<int32_t> shards() const = 0;

  // A client that pushes and pulls. A later session of the same worker with
  // another incarnation fences the earlier one; any number of sessions may
  // share one identity. worker_id -1 is an observer: it may only pull, gets no
  // ReductionPartials and fences nobody.
  virtual SessionId Connect(const WorkerIdentity& worker,
                            std::shared_ptr<ReplySink> sink) = 0;
  // No reply follows the return, except those already being delivered.
  virtual void Disconnect(SessionId session) = 0;
  // Queues the requests; never waits. Order is kept for each shard. While the
  // session lasts, each push and each pull is answered exactly once; what
  // cannot be taken is answered with a RequestError.
  virtual void Submit(SessionId session,
                      std::vector<ShardRequest> requests) = 0;

  // BOUNDED: the workers that the bound counts, ascending ids. Until the first
  // call these are all of the job's.
  virtual void SetWorkers(const std::vector<int32_t>& worker_ids) = 0;

  // Waits until no update is under way and none starts until Resume.
  virtual std::vector<ShardProgress> Pause() = 0;
  virtual void Resume() = 0;
  virtual std::vector<ShardProgress> Progress() const = 0;
  virtual std::vector<ShardMetrics> Metrics() const = 0;

  // Calls back once with the snapshots of all hosted shards, each taken when
  // exactly `step` updates were applied to all of its chunks (at once for
  // step -1). FAILED_PRECONDITION at once when some shard is past `step` or
  // none is hosted; INVALID_ARGUMENT for a step other than -1 unless the job
  // is SYNC; CANCELLED when a shard goes away before. With `stop`, the shards
  // refuse, from now on, pushes of `step` or later (step -1: all) and pulls
  // that need them, with kJobStopped.
  virtual void Capture(int64_t step, bool stop, CaptureCallback done) = 0;
  // Captures that are not done end with CANCELLED, soon.
  virtual void DropCaptures() = 0;

  // ShardLog::Trim for each of these shards, with its sequence; calls back once
  // with the first error. Shards that are not here or keep no log are passed
  // over.
  virtual void TrimLogs(const std::map<int32_t, int64_t>& sequences,
                        std::function<void(absl::Status)> done) = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_SHARD_HOST_H_
