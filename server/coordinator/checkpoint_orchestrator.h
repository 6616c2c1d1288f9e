// CheckpointOrchestrator: takes cuts across all servers.
//
// In SYNC a periodic checkpoint at step t needs no pause: every server is told
// ahead to capture each shard at exactly t updates. On demand, the step is
// found by a short pause of all shards: while paused, shards differ by at most
// one update, since nobody can compute a gradient for step s before every
// chunk has s updates. So the greatest version among them, t, can be captured
// by all: some chunks are at t, the others reach it by pushes for step t - 1
// that do not depend on any chunk being past t. A server goes on by itself
// once its capture is certain (SaveShardsRequest.resume), which is safe while
// others still pause.
// In BOUNDED and ASYNC every checkpoint pauses all shards and captures them as
// they are.
//
//   capture on all servers -> files in one folder -> publish -> retention
//     -> servers trim their journals
//
// It calls servers and the disk only through the closures it posts. Thread
// safety: none; every method runs under the coordinator's lock.

#ifndef SELARI_SERVER_COORDINATOR_CHECKPOINT_ORCHESTRATOR_H_
#define SELARI_SERVER_COORDINATOR_CHECKPOINT_ORCHESTRATOR_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/job_reduction.h"
#include "selari/v1/job.pb.h"
#include "selari/v1/shard_service.pb.h"
#include "server/coordinator/checkpoint_cut.h"
#include "server/coordinator/checkpoint_store.h"
#include "server/shard_control/shard_control.h"

namespace selari {

class CheckpointOrchestrator {
 public:
  // Periodic captures that servers know of ahead. Enough for the fastest
  // steps: a capture is armed by a message, and this many intervals pass
  // before one could come too late.
  static constexpr int kArmedAhead = 16;
  // Tries of one request for a server that cannot be reached.
  static constexpr int kTriesMax = 3;

  struct Server {
    int32_t id = 0;
    uint64_t incarnation = 0;
    ShardControl* control = nullptr;  // borrowed
  };

  // How it acts on the world. All must be set.
  struct Environment {
    using Closure = std::function<void()>;
    // Runs a closure soon, in order, without the lock.
    std::function<void(Closure)> post;
    // The same for what blocks on the disk.
    std::function<void(Closure)> post_io;
    // Runs a closure under the lock, if the coordinator still lives.
    std::function<void(const Closure&)> enter;
    CheckpointStore* store = nullptr;  // borrowed
    // A checkpoint was published; one failed and nobody asked for it. Called
    // under the lock.
    std::function<void(const PublishedCheckpoint&)> on_published;
    std::function<void(const absl::Status&)> on_failed;
  };

  // Called once, under the lock.
  using Done = std::function<void(absl::StatusOr<PublishedCheckpoint>)>;

  CheckpointOrchestrator(const v1::ResolvedJob& job, Environment environment);

  // The shards are ready, at `step`: periodic checkpoints begin. `anew`: they
  // begin there, so that no worker holds back anything.
  void Start(std::vector<Server> servers, int64_t step, bool anew = true);
  // Every worker has done `step` steps.
  void OnProgress(int64_t step);
  // Takes a checkpoint at a near step. REQUIRES: Start was called.
  void Save(Done done);
  // The same, and shards refuse updates past it. Repeats join the first.
  void SaveAndStop(Done done);
  // Gives up on everything; open requests end with `status`.
  void Abort(const absl::Status& status);
  // The same, but Start follows: the shards go back to a checkpoint. What is
  // being published already goes on.
  void Interrupt(const absl::Status& status);

  // What is being waited for, or empty.
  std::string Describe() const;

 private:
  // Of one cut.
  struct Capture {
    int64_t step = 0;  // -1: as the shards are
    bool stop = false;
    bool resume = false;
    bool publishing = false;
    std::string directory;
    std::set<size_t> waiting;  // servers that have not answered
    std::vector<int> tries;    // by server
    absl::Status error;
    CheckpointCut cut;
    std::vector<Done> done;
  };
  // A cut whose step is not yet known.
  struct Request {
    bool stop = false;
    std::vector<Done> done;
  };
  // The pause that finds it.
  struct Pause {
    Request request;
    std::set<size_t> waiting;
    absl::Status error;
    int64_t min_version = 0;
    int64_t max_version = 0;
    bool any_chunk = false;
  };

  template <class Request>
  Request NewRequest(const Server& server) const {
    Request request;
    request.set_job_id(job_.job_id());
    request.set_incarnation(server.incarnation);
    return request;
  }
  std::set<size_t> AllServers() const;
  bool sync() const { return IsSync(job_.job()); }
  void Enqueue(Request request);
  void StartNextRequest();
  // Ends what waits for servers, with `status`.
  void Drop(const absl::Status& status, bool publishing_too);
  void SendPause(size_t server);
  void OnPaused(size_t server,
                const absl::StatusOr<v1::PauseShardsResponse>& response);
  void EndPause();
  void ChooseCut(Pause pause);
  void ResumeAll();

  void ArmPeriodic();
  void StartCapture(Capture capture);
  void SendCapture(int64_t id, size_t server);
  void OnCaptured(int64_t id, size_t server,
                  const absl::StatusOr<v1::SaveShardsResponse>& response);
  bool TryAgain(int64_t id, size_t server, const absl::Status& error);
  void FinishCapture(int64_t id);
  void FailCapture(int64_t id);
  void PublishCapture(int64_t id);
  void OnPublished(int64_t id,
                   const absl::StatusOr<PublishedCheckpoint>& published);
  void TrimJournals(const Capture& capture);
  void ForgetCapturesAfter(int64_t step);
  int64_t StepOf(const Capture& capture) const;
  std::string ServerName(size_t server) const;

  const v1::ResolvedJob job_;
  const Environment environment_;

  std::vector<Server> servers_;
  // Rises with each Interrupt: answers to a pause before it do not count.
  int64_t generation_ = 0;
  bool stopping_ = false;
  bool aborted_ = false;
  absl::Status abort_status_;
  int64_t start_step_ = 0;
  bool anew_ = true;
  int64_t next_periodic_step_ = 0;
  int64_t progress_step_ = 0;

  std::deque<Request> requests_;
  std::unique_ptr<Pause> pause_;
  // Ascending by id: in the order in which they were started.
  std::map<int64_t, Capture> captures_;
  int64_t next_capture_id_ = 1;
  PublishedCheckpoint newest_;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_CHECKPOINT_ORCHESTRATOR_H_
