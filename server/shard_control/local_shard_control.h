// LocalShardControl: the control plane over the ShardHost of this process:
// restores and initialises shards, pauses and captures them, writes their
// files. A server process puts ShardService before it; a centralised run gives
// it to its coordinator as it is.
//
// Captures are written one after the other by a thread of their own, while
// training goes on. When more than Options::unwritten_captures_max wait for
// the disk, the shards pause until it has caught up, so that the memory of old
// versions stays bounded and no checkpoint is missed.
//
// Thread safety: as ShardControl.

#ifndef SELARI_SERVER_SHARD_CONTROL_LOCAL_SHARD_CONTROL_H_
#define SELARI_SERVER_SHARD_CONTROL_LOCAL_SHARD_CONTROL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/executor.h"
#include "common/file_env.h"
#include "common/mutex.h"
#include "common/shard_snapshot.h"
#include "server/shard/shard_host.h"
#include "server/shard/shard_job.h"
#include "server/shard_control/shard_control.h"

namespace selari {

class LocalShardControl : public ShardControl {
 public:
  struct Options {
    // Random number of this life of the process, never 0.
    uint64_t incarnation = 0;
    // A pause that nobody ended ends by itself: its coordinator is gone.
    int64_t pause_max_ms = 10'000;
    // Captures in memory before training waits for the disk, > 0.
    int32_t unwritten_captures_max = 4;
  };
  struct Environment {
    ShardHost* host = nullptr;     // borrowed, outlives this
    FileEnv* file_env = nullptr;   // borrowed
    const Clock* clock = nullptr;  // borrowed
    // For short work, and for what blocks on the disk.
    std::unique_ptr<Executor> control_executor;
    std::unique_ptr<Executor> disk_executor;
    // The shards are ready; the job has ended. May be null. Called once each,
    // on the control executor.
    std::function<void()> on_ready;
    std::function<void(const v1::EndJobRequest& how)> on_end;
    // Told for people, one sentence, on the control executor. May be null.
    std::function<void(const std::string&)> log;
  };

  LocalShardControl(const Options& options, Environment environment);
  ~LocalShardControl() override;

  void AssignShards(const v1::AssignShardsRequest& request,
                    Done<v1::AssignShardsResponse> done) override;
  void PauseShards(const v1::PauseShardsRequest& request,
                   Done<v1::PauseShardsResponse> done) override;
  void ResumeShards(const v1::ResumeShardsRequest& request,
                    Done<v1::ResumeShardsResponse> done) override;
  void SaveShards(const v1::SaveShardsRequest& request,
                  Done<v1::SaveShardsResponse> done) override;
  void TrimJournals(const v1::TrimJournalsRequest& request,
                    Done<v1::TrimJournalsResponse> done) override;
  void GetShardStatus(const v1::GetShardStatusRequest& request,
                      Done<v1::GetShardStatusResponse> done) override;
  void EndJob(const v1::EndJobRequest& request,
              Done<v1::EndJobResponse> done) override;

  // Ends a pause that is over. Call it about every 100 ms.
  void Tick();

  // The process ends: saves that wait are answered with CANCELLED, and every
  // later call with UNAVAILABLE. Returns at once; open calls are answered soon.
  void Close();

 private:
  using SaveDone = Done<v1::SaveShardsResponse>;
  using SaveKey = std::pair<int64_t, std::string>;  // step, directory
  struct Save {
    bool finished = false;
    absl::StatusOr<v1::SaveShardsResponse> result;
    std::vector<SaveDone> done;
  };
  // Outlives this object in the hands of the host's captures.
  struct Link;

  bool ending() const;

  // Everything below runs on the control executor, except PostTo and Write.
  absl::Status CheckTarget(const std::string& job_id,
                           uint64_t incarnation) const;
  // Posts `run`(request, done), behind CheckTarget, whose error is answered.
  template <class Request, class Response, class Run>
  void PostTo(const Request& request, Done<Response> done, const Run& run);
  absl::StatusOr<v1::AssignShardsResponse> Assign(
      const v1::AssignShardsRequest& request);
  // Hosts the shards as the request says, whatever was hosted before.
  absl::Status MakeShards(const std::shared_ptr<const ShardJob>& job,
                          const std::vector<int32_t>& shards,
                          const v1::AssignShardsRequest& request);
  absl::Status MakeJournaledShards(const std::shared_ptr<const ShardJob>& job,
                                   const std::vector<int32_t>& shards,
                                   std::vector<ShardSnapshot> snapshots,
                                   const v1::AssignShardsRequest& request);
  absl::StatusOr<std::vector<ShardSnapshot>> ReadSnapshots(
      const ShardJob& job, const std::vector<int32_t>& shards,
      const std::string& checkpoint);
  void StartSave(const v1::SaveShardsRequest& request, SaveDone done);
  void OnCaptured(const SaveKey& key,
                  absl::StatusOr<std::vector<ShardSnapshot>> snapshots);
  void FinishSave(const SaveKey& key,
                  absl::StatusOr<v1::SaveShardsResponse> result);
  void ForgetOldSaves();
  void CancelSaves();
  void SetPauses(bool asked_for, bool for_disk);
  // On the disk executor.
  absl::StatusOr<v1::SaveShardsResponse> Write(
      const std::string& directory,
      const std::vector<ShardSnapshot>& snapshots);

  // Constant after construction.
  const Options options_;
  ShardHost& host_;
  FileEnv& file_env_;
  const Clock& clock_;
  const std::function<void()> on_ready_;
  const std::function<void(const v1::EndJobRequest&)> on_end_;
  const std::function<void(const std::string&)> log_;
  const std::shared_ptr<Link> link_;

  // Used on the control executor only.
  std::shared_ptr<const ShardJob> job_;
  int64_t shard_map_version_ = 0;
  bool pause_asked_for_ = false;
  bool pause_for_disk_ = false;
  int64_t pause_ends_ms_ = 0;
  bool end_announced_ = false;
  bool closed_ = false;
  std::map<SaveKey, Save> saves_;
  int32_t unwritten_captures_ = 0;

  // Own synchronisation. Ended first by the destructor, the disk's last: it
  // posts to the other.
  std::unique_ptr<Executor> control_executor_;
  std::unique_ptr<Executor> disk_executor_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CONTROL_LOCAL_SHARD_CONTROL_H_
