// FakeShardHost: a ShardHost in a page, for tests of what stands around it.
// Applies pushes on arrival (w -= gradient), answers repeats, lets pulls wait
// for their version. Weights start at 0.
//
// Thread safety: all methods from any thread. Replies come inside Submit, or,
// after HoldReplies, inside ReleaseReplies.

#ifndef SELARI_SERVER_RPC_FAKE_SHARD_HOST_H_
#define SELARI_SERVER_RPC_FAKE_SHARD_HOST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/float_buffer.h"
#include "common/mutex.h"
#include "server/shard/shard_host.h"

namespace selari {

class FakeShardHost final : public ShardHost {
 public:
  // Hosts `shards` of a job of `workers` workers with the given tensors and
  // two logical shards, job_id "job". Without shards: not initialised.
  FakeShardHost(const std::vector<std::pair<std::string, int64_t>>& tensors,
                const std::vector<int32_t>& shards, int32_t workers = 2);

  // Comes to where another host of the same shards was: what it applied, and
  // which pushes it had.
  void RecoverFrom(const FakeShardHost& lost);
  // Keeps replies back until ReleaseReplies.
  void HoldReplies();
  void ReleaseReplies();
  // Pushes count as waiting in a queue until ReleaseHandled.
  void HoldHandled();
  void ReleaseHandled();
  // The next push is refused so.
  void RefuseNextPush(RequestError error);
  // Sends a reply to every session.
  void Broadcast(const ShardReply& reply);
  // Blocks until so many requests were submitted in all.
  void WaitForRequests(int64_t count);
  int64_t request_count() const;
  // Pushes that were applied.
  int64_t applied_count() const;
  // Of all pushes that were submitted; 0 before the first.
  int64_t lowest_sequence() const;
  // Sessions that are connected.
  int64_t session_count() const;
  std::vector<ReductionTotals> totals() const;
  float weight(int32_t chunk, int64_t i) const;

  absl::Status Reinitialize(std::shared_ptr<const ShardJob> job,
                            const std::vector<int32_t>& shards) override {
    return Initialize(std::move(job), shards);
  }
  absl::Status Initialize(std::shared_ptr<const ShardJob> job,
                          const std::vector<int32_t>& shards) override;
  absl::Status Restore(std::shared_ptr<const ShardJob> job,
                       std::vector<ShardSnapshot> snapshots) override;
  absl::Status Host(std::shared_ptr<const ShardJob> /*job*/,
                    std::map<int32_t, MakeShardSeat> /*makers*/) override {
    return absl::UnimplementedError("the fake makes its own shards");
  }
  std::shared_ptr<const ShardJob> job() const override;
  std::vector<int32_t> shards() const override;
  SessionId Connect(const WorkerIdentity& worker,
                    std::shared_ptr<ReplySink> sink) override;
  void Disconnect(SessionId session) override;
  void Submit(SessionId session, std::vector<ShardRequest> requests) override;
  void SetWorkers(const std::vector<int32_t>& worker_ids) override;
  std::vector<ShardProgress> Pause() override;
  void Resume() override;
  std::vector<ShardProgress> Progress() const override;
  std::vector<ShardMetrics> Metrics() const override { return {}; }
  void Capture(int64_t step, bool stop, CaptureCallback done) override;
  void DropCaptures() override {}
  void TrimLogs(const std::map<int32_t, int64_t>& /*sequences*/,
                std::function<void(absl::Status)> done) override {
    done(absl::OkStatus());
  }

 private:
  struct Chunk {
    int64_t version = 0;
    std::shared_ptr<const FloatBuffer> weights;
  };
  struct Session {
    WorkerIdentity worker;
    std::shared_ptr<ReplySink> sink;
  };
  struct WaitingPull {
    SessionId session = 0;
    ChunkPull pull;
  };
  // Last sequence by (worker, incarnation, shard).
  using Sequences =
      std::map<std::pair<uint64_t, std::pair<int32_t, int32_t>>, int64_t>;
  using Outbox = std::vector<std::pair<SessionId, ShardReply>>;

  void Take(SessionId session, const ShardRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Apply(SessionId session, const ChunkPush& push)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AnswerPulls() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Delivers the outbox unless replies are held. Called without the lock.
  void Deliver();
  void DeliverHandled();

  mutable Mutex mu_;
  CondVar submitted_;
  std::shared_ptr<const ShardJob> job_ ABSL_GUARDED_BY(mu_);
  std::vector<int32_t> shards_ ABSL_GUARDED_BY(mu_);
  std::vector<Chunk> chunks_ ABSL_GUARDED_BY(mu_);
  std::map<SessionId, Session> sessions_ ABSL_GUARDED_BY(mu_);
  Sequences sequences_ ABSL_GUARDED_BY(mu_);
  std::vector<WaitingPull> waiting_ ABSL_GUARDED_BY(mu_);
  std::vector<ReductionTotals> totals_ ABSL_GUARDED_BY(mu_);
  std::vector<RequestError> refusals_ ABSL_GUARDED_BY(mu_);
  Outbox outbox_ ABSL_GUARDED_BY(mu_);
  bool held_ ABSL_GUARDED_BY(mu_) = false;
  bool handled_held_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::pair<std::shared_ptr<ReplySink>, int64_t>> handled_
      ABSL_GUARDED_BY(mu_);  // to be told
  SessionId next_session_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t request_count_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t applied_count_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t lowest_sequence_ ABSL_GUARDED_BY(mu_) = 0;
};

// The job that the fake runs.
v1::ResolvedJob FakeJob(
    const std::vector<std::pair<std::string, int64_t>>& tensors,
    int32_t workers);

}  // namespace selari

#endif  // SELARI_SERVER_RPC_FAKE_SHARD_HOST_H_
