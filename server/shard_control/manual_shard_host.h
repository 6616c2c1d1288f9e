// ManualShardHost: a ShardHost without shards, of which a test decides when
// captures come; for tests of what controls a host.
//
// Thread safety: none; for tests on one thread.

#ifndef SELARI_SERVER_SHARD_CONTROL_MANUAL_SHARD_HOST_H_
#define SELARI_SERVER_SHARD_CONTROL_MANUAL_SHARD_HOST_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/check.h"
#include "server/shard/shard_host.h"

namespace selari {

class ManualShardHost final : public ShardHost {
 public:
  struct OpenCapture {
    int64_t step = 0;
    bool stop = false;
    CaptureCallback done;
  };

  absl::Status Initialize(std::shared_ptr<const ShardJob> job,
                          const std::vector<int32_t>& shards) override {
    job_ = std::move(job);
    shards_ = shards;
    return absl::OkStatus();
  }
  absl::Status Reinitialize(std::shared_ptr<const ShardJob> job,
                            const std::vector<int32_t>& shards) override {
    restored.clear();
    return Initialize(std::move(job), shards);
  }
  absl::Status Restore(std::shared_ptr<const ShardJob> job,
                       std::vector<ShardSnapshot> snapshots) override {
    job_ = std::move(job);
    restored = std::move(snapshots);
    shards_.clear();
    for (const ShardSnapshot& snapshot : restored) {
      shards_.push_back(snapshot.shard);
    }
    return absl::OkStatus();
  }
  absl::Status Host(std::shared_ptr<const ShardJob> job,
                    std::map<int32_t, MakeShardSeat> makers) override {
    job_ = std::move(job);
    shards_.clear();
    for (const auto& [shard, maker] : makers) {
      absl::StatusOr<ShardSeat> seat = maker();
      if (!seat.ok()) {
        return seat.status();
      }
      seats[shard] = *std::move(seat);
      shards_.push_back(shard);
    }
    return absl::OkStatus();
  }
  std::shared_ptr<const ShardJob> job() const override { return job_; }
  std::vector<int32_t> shards() const override { return shards_; }
  SessionId Connect(const WorkerIdentity& /*worker*/,
                    std::shared_ptr<ReplySink> /*sink*/) override {
    return 1;
  }
  void Disconnect(SessionId /*session*/) override {}
  void Submit(SessionId /*session*/,
              std::vector<ShardRequest> /*requests*/) override {}
  void SetWorkers(const std::vector<int32_t>& /*worker_ids*/) override {}
  std::vector<ShardProgress> Pause() override {
    SELARI_CHECK(!paused);
    paused = true;
    return Progress();
  }
  void Resume() override {
    SELARI_CHECK(paused);
    paused = false;
  }
  std::vector<ShardProgress> Progress() const override {
    std::vector<ShardProgress> result;
    for (const int32_t shard : shards_) {
      result.emplace_back();
      result.back().shard = shard;
    }
    return result;
  }
  std::vector<ShardMetrics> Metrics() const override { return {}; }
  void Capture(int64_t step, bool stop, CaptureCallback done) override {
    captures.push_back({step, stop, std::move(done)});
  }

  void DropCaptures() override {
    for (const OpenCapture& capture : captures) {
      capture.done(absl::CancelledError("dropped"));
    }
    captures.clear();
  }
  void TrimLogs(const std::map<int32_t, int64_t>& sequences,
                std::function<void(absl::Status)> done) override {
    trims.push_back(sequences);
    done(absl::OkStatus());
  }

  bool paused = false;
  std::map<int32_t, ShardSeat> seats;
  std::vector<std::map<int32_t, int64_t>> trims;
  std::vector<ShardSnapshot> restored;
  std::vector<OpenCapture> captures;

 private:
  std::shared_ptr<const ShardJob> job_;
  std::vector<int32_t> shards_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CONTROL_MANUAL_SHARD_HOST_H_
