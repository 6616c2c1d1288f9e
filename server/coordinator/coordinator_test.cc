#include "server/coordinator/coordinator.h"

#include <memory>
#include <optional>

#include "common/error_reason.h"
#include "common/fake_clock.h"
#include "common/fault_file_env.h"
#include "common/manual_executor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/coordinator/fake_checkpoint_store.h"
#include "server/coordinator/file_metadata_store.h"
#include "server/shard_control/fake_shard_control.h"

namespace selari {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int kServers = 2;
constexpr int kWorkers = 2;

// Two servers with one shard each, two workers, 100 steps.
class CoordinatorTest : public ::testing::Test {
 protected:
  CoordinatorTest() {
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

TEST_F(CoordinatorTest, SaysWithinFiveSecondsWhichServerIsMissing) {
  Start();
  ASSERT_TRUE(JoinServer(0, 100).ok());
  AdvanceMs(3000);
  const std::string expected =
      "waits for server 1 of 2, missing for 3 s; gives up in 57 s";
  EXPECT_EQ(Message(), expected);
  EXPECT_THAT(log_, Contains("the coordinator " + expected));
  const auto map = coordinator_->GetShardMap();
  EXPECT_EQ(map.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(map.status().message(), HasSubstr("server 1 of 2"));
}

TEST_F(CoordinatorTest, GivesUpOnAMissingServer) {
  Start();
  ASSERT_TRUE(JoinServer(0, 100).ok());
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
    ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 0).ok());
    AdvanceMs(5000);
  }
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("server 1 has been missing for 60 s"));
  EXPECT_FALSE(coordinator_->result().ok());
}

TEST_F(CoordinatorTest, TwoServersWithOneIdAreRefused) {
  Start();
  ASSERT_TRUE(JoinServer(0, 100).ok());
  const absl::Status second = JoinServer(0, 999);
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReasonOf(second), ErrorReason::kDuplicateId);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
}

TEST_F(CoordinatorTest, ServerThatDiesWhileJoiningMayBeReplaced) {
  Start();
  ASSERT_TRUE(JoinServer(0, 100).ok());
  AdvanceMs(10'001);
  EXPECT_THAT(Message(), HasSubstr("servers 0 and 1 of 2"));
  EXPECT_TRUE(JoinServer(0, 999).ok());
}

TEST_F(CoordinatorTest, WeakerProcessorIsRefused) {
  Start();
  v1::RegisterWorkerRequest request = WorkerRequest(1);
  request.set_instruction_set(v1::INSTRUCTION_SET_LEVEL2);
  const absl::Status status = coordinator_->RegisterWorker(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kInstructionSet);
  EXPECT_THAT(status.message(),
              HasSubstr("worker 1's processor has x86-64-v2, the job runs at "
                        "x86-64-v3"));
}

TEST_F(CoordinatorTest, WorkerOfAnotherJobIsRefused) {
  Start();
  v1::RegisterWorkerRequest request = WorkerRequest(1);
  request.set_job_id("k");
  const absl::Status status = coordinator_->RegisterWorker(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kWrongJob);
}

TEST_F(CoordinatorTest, WorkerWithOtherDataIsRefused) {
  Start();
  v1::RegisterWorkerRequest request = WorkerRequest(1);
  request.set_train_sample_count(59);
  const absl::Status status = coordinator_->RegisterWorker(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("59 training samples, the job has "
                                          "60"));
}

TEST_F(CoordinatorTest, ShardsAreAssignedWhenAllServersAreThere) {
  options_.resume = {"/out/step-40", 40, "digest"};
  Start();
  ASSERT_TRUE(JoinServer(1, 101).ok());
  EXPECT_EQ(servers_[1].assigns.waiting(), 0u);
  ASSERT_TRUE(JoinServer(0, 100).ok());
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_INITIALIZING);
  ASSERT_EQ(servers_[1].assigns.waiting(), 1u);
  const v1::AssignShardsRequest& request = servers_[1].assigns.request(0);
  EXPECT_EQ(request.server_id(), 1);
  EXPECT_EQ(request.incarnation(), 101u);
  EXPECT_EQ(request.checkpoint(), "/out/step-40");
  EXPECT_EQ(request.shard_map().shard_owners(1), 1);

  servers_[0].assigns.Answer(0, v1::AssignShardsResponse());
  Run();
  EXPECT_THAT(Message(), HasSubstr("waits for server 1 to restore"));
  EXPECT_FALSE(coordinator_->GetShardMap().ok());
  servers_[1].assigns.Answer(0, v1::AssignShardsResponse());
  Run();
  const auto map = coordinator_->GetShardMap();
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->start_step(), 40);
  EXPECT_EQ(map->shard_map().version(), 1);
}

TEST_F(CoordinatorTest, DamagedCheckpointEndsTheJobAndItsServers) {
  Start();
  JoinAll();
  servers_[0].assigns.Answer(0, absl::DataLossError("bad checksum"));
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(Message(), "server 0: bad checksum");
  EXPECT_EQ(servers_[0].ends.waiting(), 1u);
  EXPECT_EQ(servers_[1].ends.waiting(), 1u);
}

TEST_F(CoordinatorTest, RunningSaysWhichWorkerIsMissing) {
  Start();
  ASSERT_TRUE(JoinServer(0, 100).ok());
  ASSERT_TRUE(JoinServer(1, 101).ok());
  ASSERT_TRUE(JoinWorker(0).ok());
  for (FakeServer& server : servers_) {
    server.assigns.Answer(0, v1::AssignShardsResponse());
  }
  AdvanceMs(4000);
  EXPECT_EQ(Message(),
            "waits for worker 1 of 2, missing for 4 s; gives up in 56 s");
}

TEST_F(CoordinatorTest, SilentWorkerIsNamedAndMayComeBack) {
  StartRunning();
  AdvanceMs(6000);
  for (const int32_t server : {0, 1}) {
    ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, server).ok());
  }
  ASSERT_TRUE(Renew(v1::MEMBER_KIND_WORKER, 0).ok());
  AdvanceMs(5000);
  EXPECT_THAT(Message(), HasSubstr("waits for worker 1 of 2, missing for 11"));
  EXPECT_EQ(Renew(v1::MEMBER_KIND_WORKER, 1).code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(JoinWorker(1).ok());
  EXPECT_EQ(Message(), "");
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
}

TEST_F(CoordinatorTest, WorkerThatComesBackBeginsWhereTheSlowestMayBe) {
  StartRunning();
  v1::ReportProgressRequest report = Report(0);
  report.set_step(30);
  ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  EXPECT_EQ(coordinator_->GetShardMap()->start_step(), 0);
  report = Report(1);
  report.set_step(29);
  ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  EXPECT_EQ(coordinator_->GetShardMap()->start_step(), 28);
}

TEST_F(CoordinatorTest, UpdatesThatAreMissingAtTheEndFailTheJob) {
  StartRunning();
  FinishWorkers();
  AnswerPauses(99);
  AnswerSaves();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("100 steps, but the weights have 99"));
}

TEST_F(CoordinatorTest, SilentServerFailsTheJobNamingTheCheckpoint) {
  options_.resume = {"/out/step-40", 40, "digest"};
  StartRunning();
  AdvanceMs(6000);
  ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 0).ok());
  AdvanceMs(5000);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("server 1 lost its shards; go on from "
                                   "checkpoint /out/step-40"));
}

TEST_F(CoordinatorTest, ErrorOfAWorkerEndsTheJob) {
  StartRunning();
  v1::ReportProgressRequest report = Report(1);
  report.set_error("loss is NaN at step 7");
  const auto response = coordinator_->ReportProgress(report);
  Run();
  ASSERT_TRUE(response.ok());
  EXPECT_EQ(response->state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(Message(), "worker 1: loss is NaN at step 7");
  EXPECT_EQ(servers_[0].ends.waiting(), 1u);
}

TEST_F(CoordinatorTest, ReportOfAStrangerIsNotFound) {
  StartRunning();
  v1::ReportProgressRequest report = Report(1);
  report.set_incarnation(5);
  EXPECT_EQ(coordinator_->ReportProgress(report).status().code(),
            absl::StatusCode::kNotFound);
  report.set_worker_id(77);
  EXPECT_EQ(coordinator_->ReportProgress(report).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(CoordinatorTest, DoneWhenAllFinishedAndTheLastCheckpointIsSaved) {
  StartRunning();
  FinishWorkers();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FINISHING);
  AnswerPauses(100);
  EXPECT_TRUE(servers_[0].saves.request(0).stop());
  AnswerSaves();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_DONE);
  const v1::JobStatus status = coordinator_->GetJobStatus();
  EXPECT_EQ(status.checkpoint(), "/step-100");
  EXPECT_EQ(status.checkpoint_digest(), "digest");
  EXPECT_EQ(status.step(), 100);
  EXPECT_FALSE(coordinator_->members_know_the_end());
  for (FakeServer& server : servers_) {
    server.ends.Answer(0, v1::EndJobResponse());
  }
  EXPECT_TRUE(coordinator_->members_know_the_end());
  EXPECT_TRUE(coordinator_->result().ok());
}

TEST_F(CoordinatorTest, LastCheckpointThatFailsFailsTheJob) {
  StartRunning();
  FinishWorkers();
  AnswerPauses(100);
  servers_[0].saves.Answer(0, absl::ResourceExhaustedError("disk full"));
  servers_[1].saves.Answer(0, absl::ResourceExhaustedError("disk full"));
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(coordinator_->result().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Message(), HasSubstr("step 100 failed: server 1: disk full"));
}

TEST_F(CoordinatorTest, PeriodicCheckpointThatFailsIsOnlySaid) {
  options_.job.mutable_job()->mutable_checkpointing()->set_every_steps(50);
  StartRunning();
  for (FakeServer& server : servers_) {
    server.saves.Answer(0, absl::PermissionDeniedError("read-only"));
  }
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(Message(), HasSubstr("step 50 failed: server 1: read-only"));
}

TEST_F(CoordinatorTest, StopSavesAndIsIdempotent) {
  StartRunning();
  std::vector<absl::StatusOr<v1::StopJobResponse>> stopped;
  const auto add = [&stopped](absl::StatusOr<v1::StopJobResponse> response) {
    stopped.push_back(std::move(response));
  };
  coordinator_->StopJob(add);
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_STOPPING);
  AnswerPauses(30);
  coordinator_->StopJob(add);
  AnswerSaves();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_STOPPED);
  coordinator_->StopJob(add);
  Run();
  ASSERT_EQ(stopped.size(), 3u);
  for (const auto& response : stopped) {
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->path(), "/step-30");
    EXPECT_EQ(response->step(), 30);
  }
  EXPECT_TRUE(coordinator_->result().ok());
  for (FakeServer& server : servers_) {
    server.ends.Answer(0, v1::EndJobResponse());
  }
  // Workers have not said goodbye yet.
  EXPECT_FALSE(coordinator_->members_know_the_end());
  for (int32_t id = 0; id < kWorkers; ++id) {
    v1::ReportProgressRequest report = Report(id);
    report.set_leaving(true);
    EXPECT_EQ(coordinator_->ReportProgress(report)->state(),
              v1::JOB_STATE_STOPPED);
  }
  EXPECT_TRUE(coordinator_->members_know_the_end());
}

TEST_F(CoordinatorTest, StopBeforeTheStartSavesNothing) {
  Start();
  std::optional<absl::StatusOr<v1::StopJobResponse>> stopped;
  coordinator_->StopJob([&](auto response) { stopped = response; });
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_STOPPED);
  ASSERT_TRUE(stopped.has_value() && stopped->ok());
  EXPECT_EQ((*stopped)->path(), "");
}

TEST_F(CoordinatorTest, SaveBeforeTheStartAndAfterTheEndIsRefused) {
  Start();
  std::vector<absl::Status> statuses;
  const auto add = [&](const absl::StatusOr<v1::SaveCheckpointResponse>& r) {
    statuses.push_back(r.status());
  };
  coordinator_->SaveCheckpoint(add);
  coordinator_->FailJob(absl::InternalError("worker 0 ended with code 9"));
  coordinator_->SaveCheckpoint(add);
  Run();
  ASSERT_EQ(statuses.size(), 2u);
  EXPECT_EQ(statuses[0].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(statuses[0].message(), HasSubstr("servers 0 and 1"));
  EXPECT_EQ(statuses[1].code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Message(), "worker 0 ended with code 9");
}

TEST_F(CoordinatorTest, ServerLostWhileSavingEndsTheRequest) {
  StartRunning();
  std::optional<absl::Status> saved;
  coordinator_->SaveCheckpoint(
      [&](const auto& response) { saved = response.status(); });
  AdvanceMs(10'001);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->code(), absl::StatusCode::kAborted);
}

TEST_F(CoordinatorTest, JobOfTheUsersOwnModelNeedsNoRegisteredWorker) {
  options_.job.mutable_job()->mutable_model()->mutable_custom();
  Start();
  ASSERT_TRUE(JoinServer(0, 100).ok());
  ASSERT_TRUE(JoinServer(1, 101).ok());
  for (FakeServer& server : servers_) {
    server.assigns.Answer(0, v1::AssignShardsResponse());
  }
  Run();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 0).ok());
    ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 1).ok());
    AdvanceMs(5000);
  }
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(Message(), "");
}

TEST_F(CoordinatorTest, StateIsKeptInTheMetadataStore) {
  StartRunning();
  v1::ResolvedJob job;
  ASSERT_TRUE(job.ParseFromString(metadata_->Get(Coordinator::kJobKey)->bytes));
  EXPECT_EQ(job.job_id(), "j");
  v1::JobStatus status;
  ASSERT_TRUE(
      status.ParseFromString(metadata_->Get(Coordinator::kStatusKey)->bytes));
  EXPECT_EQ(status.state(), v1::JOB_STATE_RUNNING);
  v1::ShardMap map;
  ASSERT_TRUE(
      map.ParseFromString(metadata_->Get(Coordinator::kShardMapKey)->bytes));
  EXPECT_EQ(map.shard_owners_size(), kServers);
}

TEST_F(CoordinatorTest, ReportsChangesForWatchers) {
  StartRunning();
  const int64_t before = coordinator_->change_count();
  EXPECT_EQ(coordinator_->change_count(), before);
  ASSERT_TRUE(coordinator_->ReportProgress(Report(0)).ok());
  EXPECT_GT(coordinator_->change_count(), before);
}

TEST_F(CoordinatorTest, OpenRequestsEndWithTheCoordinator) {
  StartRunning();
  std::optional<absl::Status> stopped;
  coordinator_->StopJob(
      [&](const auto& response) { stopped = response.status(); });
  Run();
  coordinator_.reset();  // ManualExecutor drops what it has not run.
  EXPECT_EQ(servers_[0].pauses.waiting(), 1u);
}

}  // namespace
}  // namespace selari
