// CoordinatorFixture: a coordinator on one thread, with servers, workers and a
// clock that the test plays.

#ifndef SELARI_SERVER_COORDINATOR_COORDINATOR_FIXTURE_H_
#define SELARI_SERVER_COORDINATOR_COORDINATOR_FIXTURE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/fake_clock.h"
#include "common/fault_file_env.h"
#include "common/manual_executor.h"
#include "gtest/gtest.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/fake_checkpoint_store.h"
#include "server/coordinator/file_metadata_store.h"
#include "server/shard_control/fake_shard_control.h"

namespace selari {

inline constexpr int kServers = 2;
inline constexpr int kWorkers = 2;

// Two servers with one shard each, two workers, 100 steps.
class CoordinatorFixture : public ::testing::Test {
 protected:
  CoordinatorFixture() {
    options_.job.set_job_id("j");
    options_.job.set_total_steps(100);
    options_.job.set_train_sample_count(60);
    v1::Cluster* cluster = options_.job.mutable_job()->mutable_cluster();
    cluster->set_servers(kServers);
    cluster->set_workers(kWorkers);
    cluster->set_shard_count(kServers);
    cluster->set_lease_ms(10'000);
    cluster->set_join_timeout_s(60);
    cluster->set_instruction_set(v1::INSTRUCTION_SET_LEVEL3);
  }

  void Start() {
    metadata_ = *FileMetadataStore::OpenUnlockedForTest(&env_, "/state");
    Coordinator::Environment environment;
    environment.clock = &clock_;
    environment.metadata = metadata_.get();
    environment.checkpoints = &store_;
    environment.make_control = [this](const v1::ServerEntry& server) {
      return std::make_unique<FakeShardControl>(&servers_[server.server_id()]);
    };
    auto executor = std::make_unique<ManualExecutor>();
    auto io = std::make_unique<ManualExecutor>();
    executor_ = executor.get();
    io_ = io.get();
    environment.control_executor = std::move(executor);
    environment.io_executor = std::move(io);
    environment.log = [this](absl::string_view sentence) {
      log_.emplace_back(sentence);
    };
    coordinator_ =
        *Coordinator::Create(std::move(options_), std::move(environment));
  }

  void Run() {
    while (executor_->RunUntilIdle() + io_->RunUntilIdle() > 0) {
    }
  }
  void AdvanceMs(int64_t ms) {
    clock_.AdvanceMs(ms);
    coordinator_->Tick();
    Run();
  }

  absl::Status JoinServer(int32_t id, uint64_t incarnation) {
    v1::RegisterServerRequest request;
    request.set_server_id(id);
    request.set_incarnation(incarnation);
    request.set_address("host:1");
    request.set_instruction_set(v1::INSTRUCTION_SET_LEVEL4);
    const absl::Status status = coordinator_->RegisterServer(request).status();
    Run();
    return status;
  }
  static v1::RegisterWorkerRequest WorkerRequest(int32_t id) {
    v1::RegisterWorkerRequest request;
    request.set_worker_id(id);
    request.set_incarnation(200 + id);
    request.set_instruction_set(v1::INSTRUCTION_SET_LEVEL3);
    request.set_train_sample_count(60);
    return request;
  }
  absl::Status JoinWorker(int32_t id) {
    return coordinator_->RegisterWorker(WorkerRequest(id)).status();
  }
  void JoinAll() {
    for (int32_t id = 0; id < kServers; ++id) {
      ASSERT_TRUE(JoinServer(id, 100 + id).ok());
    }
    for (int32_t id = 0; id < kWorkers; ++id) {
      ASSERT_TRUE(JoinWorker(id).ok());
    }
  }
  void StartRunning() {
    Start();
    JoinAll();
    for (FakeServer& server : servers_) {
      server.assigns.Answer(0, v1::AssignShardsResponse());
    }
    Run();
    ASSERT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  }
  absl::Status Renew(v1::MemberKind kind, int32_t id) {
    v1::RenewLeaseRequest request;
    request.set_kind(kind);
    request.set_member_id(id);
    request.set_incarnation((kind == v1::MEMBER_KIND_SERVER ? 100 : 200) + id);
    return coordinator_->RenewLease(request).status();
  }
  static v1::ReportProgressRequest Report(int32_t worker) {
    v1::ReportProgressRequest request;
    request.set_worker_id(worker);
    request.set_incarnation(200 + worker);
    return request;
  }
  void FinishWorkers() {
    for (int32_t id = 0; id < kWorkers; ++id) {
      v1::ReportProgressRequest report = Report(id);
      report.set_step(100);
      report.set_finished(true);
      report.set_leaving(true);
      ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
    }
    Run();
  }
  // Plays both servers' part in an on-demand checkpoint.
  void AnswerPauses(int64_t version) {
    for (int32_t id = 0; id < kServers; ++id) {
      v1::PauseShardsResponse response;
      v1::ShardStatus* shard = response.add_shards();
      shard->set_state_bytes(4);
      shard->set_min_version(version);
      shard->set_max_version(version);
      servers_[id].pauses.Answer(0, response);
    }
    Run();
  }
  void AnswerSaves() {
    for (int32_t id = 0; id < kServers; ++id) {
      v1::SaveShardsResponse response;
      response.add_files()->set_shard(id);
      servers_[id].saves.Answer(0, response);
    }
    Run();
  }
  std::string Message() { return coordinator_->GetJobStatus().message(); }

  Coordinator::Options options_;
  FakeClock clock_;
  FaultFileEnv env_;
  FakeCheckpointStore store_;
  FakeServer servers_[kServers];
  std::vector<std::string> log_;
  std::unique_ptr<FileMetadataStore> metadata_;
  ManualExecutor* executor_ = nullptr;
  ManualExecutor* io_ = nullptr;
  std::unique_ptr<Coordinator> coordinator_;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_COORDINATOR_FIXTURE_H_
