// Coordinator: the control plane of one job. Members join and keep leases;
// when all servers are there, it places the shards and has them initialised or
// restored; it follows the workers' progress, takes checkpoints, and ends the
// job. It knows no RPC: CoordinatorService and cli's LocalCoordinatorClient
// are its two callers, ShardControl its way to the servers.
//
//   JOINING -> INITIALIZING -> RUNNING -> FINISHING -> DONE
//                                |
//                                +-> STOPPING -> STOPPED        any -> FAILED
//
// A server that is lost while the job runs takes its shards with it. The job
// then waits for it, or for another process with its id, and goes back to the
// newest checkpoint with all servers: RUNNING -> JOINING -> INITIALIZING ->
// RUNNING, with a shard map of a higher version. Workers let go of their
// servers and begin at the checkpoint's step. In SYNC the weights come out as
// if nothing had happened. There another life of a worker has the same effect:
// the step that the last one was in may be applied to some chunks and not to
// others, so that nobody can see the weights it began with any more.
//
// With DURABILITY_JOURNALED nothing goes back for a server: RUNNING -> JOINING
// -> INITIALIZING -> RUNNING again, but the lost shards come to where they were
// by their journals, the others stay as they are, and workers only find the
// server anew.
//
// It never waits in silence: JobStatus.message says who is missing, since when
// and when the coordinator gives up, and the same goes to `log` within 5 s.
//
// Thread safety: all methods from any thread. None blocks. Time passes only
// in Tick().

#ifndef SELARI_SERVER_COORDINATOR_COORDINATOR_H_
#define SELARI_SERVER_COORDINATOR_COORDINATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"
#include "common/executor.h"
#include "common/mutex.h"
#include "selari/v1/coordinator_service.pb.h"
#include "selari/v1/job.pb.h"
#include "server/coordinator/checkpoint_orchestrator.h"
#include "server/coordinator/checkpoint_store.h"
#include "server/coordinator/job_progress.h"
#include "server/coordinator/membership.h"
#include "server/coordinator/metadata_store.h"
#include "server/shard_control/shard_control.h"

namespace selari {

class Coordinator {
 public:
  struct Options {
    // With every default filled in, cluster.servers >= 1 and
    // cluster.workers >= 1.
    v1::ResolvedJob job;
    // What to go on from; an empty path for initial values.
    PublishedCheckpoint resume;
    // Where servers keep journals; empty: they keep none.
    std::string journal_directory;
    // Whether who joins, and what comes of it, is logged: no news where all is
    // one process.
    bool log_joins = true;
  };
  struct Environment {
    const Clock* clock = nullptr;            // borrowed
    MetadataStore* metadata = nullptr;       // borrowed
    CheckpointStore* checkpoints = nullptr;  // borrowed
    ShardControlFactory make_control;
    // For calls to servers and callbacks, and for what blocks on the disk.
    std::unique_ptr<Executor> control_executor;
    std::unique_ptr<Executor> io_executor;
    // Told one sentence at a time, for people. Called from any thread.
    std::function<void(absl::string_view)> log;
  };
  template <class Response>
  using Done = std::function<void(absl::StatusOr<Response>)>;

  // Keys of the metadata store: a serialised ResolvedJob, ShardMap, and
  // JobStatus with the newest metrics and evaluation only. The last is written
  // with every change of the state, every checkpoint and this often, until the
  // job has ended.
  static constexpr int64_t kStatusIntervalMs = 5'000;
  static constexpr absl::string_view kJobKey = "job";
  static constexpr absl::string_view kShardMapKey = "shard_map";
  static constexpr absl::string_view kStatusKey = "status";

  // Writes the job into the metadata store; errors of that store.
  static absl::StatusOr<std::unique_ptr<Coordinator>> Create(
      Options options, Environment environment);
  // Open requests end with CANCELLED.
  ~Coordinator();

  // The methods of selari.v1.CoordinatorService; see there for their errors.
  absl::StatusOr<v1::RegisterServerResponse> RegisterServer(
      const v1::RegisterServerRequest& request);
  absl::StatusOr<v1::RegisterWorkerResponse> RegisterWorker(
      const v1::RegisterWorkerRequest& request);
  absl::StatusOr<v1::RenewLeaseResponse> RenewLease(
      const v1::RenewLeaseRequest& request);
  absl::StatusOr<v1::GetShardMapResponse> GetShardMap() const;
  v1::GetJobResponse GetJob() const;
  v1::JobStatus GetJobStatus() const;
  absl::StatusOr<v1::ReportProgressResponse> ReportProgress(
      const v1::ReportProgressRequest& request);
  // `done` is called once, on the control executor.
  void SaveCheckpoint(Done<v1::SaveCheckpointResponse> done);
  void StopJob(Done<v1::StopJobResponse> done);

  // Ends leases and waits that are over. Call it about every 100 ms.
  void Tick();

  // Ends the job as FAILED, e.g. when a process of it could not be started.
  // No effect on a job that has ended.
  void FailJob(const absl::Status& why);

  // The member's process is known to have ended, `how` ("was ended by signal
  // 9"): nobody needs to wait for the end of its lease. REQUIRES: the id is
  // one of the job's.
  void NoteDeath(v1::MemberKind kind, int32_t id, absl::string_view how);

  // Rises with every change of what GetJobStatus answers, silent_ms and
  // seconds in messages apart.
  int64_t change_count() const;
  v1::JobState state() const;
  // True when the job has ended, every live server has heard of it and every
  // worker has left: nobody will call any more.
  bool members_know_the_end() const;
  // True when every server, and every worker that the job needs, has joined
  // at some time.
  bool all_members_came() const;
  // Of a job that has ended: OK for DONE and STOPPED, otherwise why it failed.
  absl::Status result() const;

 private:
  Coordinator(Options options, Environment environment);

  // Everything below runs under mu_, through these two doors.
  void Enter(const std::function<void()>& event);
  CheckpointOrchestrator::Environment OrchestratorEnvironment(
      CheckpointStore* store);

  bool ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SetState(v1::JobState state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fail(const absl::Status& why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LogJoin(std::string sentence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Log(std::string sentence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Persist(absl::string_view key, std::string bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnPersisted(const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PersistStatus() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // `job_id` is what the member was given; empty: it takes any job.
  absl::Status CheckJob(absl::string_view name,
                        const std::string& job_id) const;
  absl::Status CheckOpen(v1::MemberKind kind, uint64_t incarnation,
                         absl::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status CheckInstructionSet(v1::InstructionSet level,
                                   absl::string_view member) const;
  absl::Status CheckWorker(const v1::RegisterWorkerRequest& request) const;
  // Workers that see other samples would silently make another model.
  absl::Status CheckSamples(uint32_t checksum) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MaybeInitialize() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AssignShards(size_t server) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnAssigned(int64_t map_version, size_t server,
                  const absl::StatusOr<v1::AssignShardsResponse>& response)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnAllAssigned() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnMemberGone(v1::MemberKind kind, int32_t id, absl::string_view how)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void LoseServer(int32_t id, absl::string_view how)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What a lost worker had begun, its next life can go on with.
  bool WorkersFindTheStep() const;
  void LoseWorker(int32_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GoBack(const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Recover(const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // False when the job fails for it.
  bool CountLoss(const std::string& what) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool CountLossOnTheWay(const std::string& what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnLeaseEnded(const Member& member) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // STOPPING in SYNC: a worker that was lost in the middle of a step, so that
  // the last cut may never be reached; null when there is none.
  const Member* LostWhileStopping() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndStopInVain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveUpIfTooLate(v1::MemberKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the job cannot go on without a worker that registers.
  bool needs_workers() const;

  int64_t StartStep() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Finish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stop() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AnswerStops(const absl::StatusOr<PublishedCheckpoint>& published)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnLastCheckpoint(v1::JobState end_state,
                        const absl::StatusOr<PublishedCheckpoint>& published)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status JobFailed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndServers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void DescribeJob(v1::JobStatus* status) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // One sentence on what is waited for; empty when nothing is.
  std::string DescribeWait() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // One sentence on the state that was just entered; empty when it needs none.
  std::string DescribeState() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string Message() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DescribeMembers(v1::JobStatus* status) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Constant after construction.
  const Options options_;
  const v1::Cluster& cluster_;  // of options_.job
  const Clock& clock_;
  MetadataStore& metadata_;
  const ShardControlFactory make_control_;
  const std::function<void(absl::string_view)> log_;

  mutable Mutex mu_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  v1::JobState state_ ABSL_GUARDED_BY(mu_) = v1::JOB_STATE_JOINING;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
  absl::Status checkpoint_error_ ABSL_GUARDED_BY(mu_);
  Membership membership_ ABSL_GUARDED_BY(mu_);
  JobProgress progress_ ABSL_GUARDED_BY(mu_);
  // Of the training samples: the job's, or else the first worker's; 0: unknown.
  uint32_t data_checksum_ ABSL_GUARDED_BY(mu_);
  v1::ShardMap shard_map_ ABSL_GUARDED_BY(mu_);
  // By index in shard_map_.servers; destroyed before the rest.
  std::vector<std::unique_ptr<ShardControl>> controls_ ABSL_GUARDED_BY(mu_);
  // Of servers that were lost: calls may still be posted to them.
  std::vector<std::unique_ptr<ShardControl>> old_controls_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> assigned_ ABSL_GUARDED_BY(mu_);
  // The greatest version of a shard, as servers said when they were assigned.
  int64_t assigned_version_ ABSL_GUARDED_BY(mu_) = 0;
  PublishedCheckpoint newest_ ABSL_GUARDED_BY(mu_);
  // What the shards began with, last.
  PublishedCheckpoint base_ ABSL_GUARDED_BY(mu_);
  // Of the map with which they did, or will.
  int64_t base_map_version_ ABSL_GUARDED_BY(mu_) = 1;
  // JOINING and INITIALIZING end with shards that go on where they were.
  bool recovering_ ABSL_GUARDED_BY(mu_) = false;
  // Who asked for a stop that is under way, or comes after the recovery.
  std::vector<CheckpointOrchestrator::Done> stops_ ABSL_GUARDED_BY(mu_);
  // Members lost since there was a new checkpoint, or, when nothing is lost
  // with them, since loss_step_.
  int losses_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t loss_step_ ABSL_GUARDED_BY(mu_) = 0;
  CheckpointOrchestrator orchestrator_ ABSL_GUARDED_BY(mu_);
  int64_t change_count_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t state_since_ms_ ABSL_GUARDED_BY(mu_);
  int64_t wait_logged_ms_ ABSL_GUARDED_BY(mu_);
  int64_t status_persisted_ms_ ABSL_GUARDED_BY(mu_) = 0;
  bool persist_failed_ ABSL_GUARDED_BY(mu_) = false;

  // Own synchronisation. Ended first by the destructor.
  std::unique_ptr<Executor> control_executor_;
  std::unique_ptr<Executor> io_executor_;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_COORDINATOR_H_
