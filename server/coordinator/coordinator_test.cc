#include "server/coordinator/coordinator.h"

#include "common/error_reason.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/coordinator/coordinator_fixture.h"

namespace selari {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

using CoordinatorTest = CoordinatorFixture;

TEST_F(CoordinatorTest, SaysWithinFiveSecondsWhichServerIsMissing) {
  Start();
  ASSERT_TRUE(JoinServer(0, 100).ok());
  AdvanceMs(3000);
  const std::string expected =
      "waits for server 1 of 2 to join, 3 s so far; gives up in 57 s";
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

TEST_F(CoordinatorTest, ServerOfAnotherJobIsRefusedAndTakesNoPlace) {
  Start();
  v1::RegisterServerRequest request;
  request.set_server_id(0);
  request.set_incarnation(99);
  request.set_address("10.0.0.9:7071");
  request.set_instruction_set(v1::INSTRUCTION_SET_LEVEL3);
  request.set_job_id("k");
  const absl::Status status = coordinator_->RegisterServer(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(status), ErrorReason::kWrongJob);
  EXPECT_EQ(status.message(),
            "the server at 10.0.0.9:7071 belongs to job k, this coordinator "
            "runs job j");
  EXPECT_TRUE(JoinServer(0, 100).ok());
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

TEST_F(CoordinatorTest, WorkerWithAsManyOtherSamplesIsRefused) {
  options_.job.set_train_data_checksum(0xabc);
  Start();
  v1::RegisterWorkerRequest request = WorkerRequest(1);
  request.set_train_data_checksum(0xdef);
  const absl::Status status = coordinator_->RegisterWorker(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "the worker sees as many training samples as the job, but others: "
            "their checksum is 00000def, not 00000abc; give every worker the "
            "same data");
  request.set_train_data_checksum(0xabc);
  EXPECT_TRUE(coordinator_->RegisterWorker(request).ok());
  // Users' own workers read what they like.
  EXPECT_TRUE(coordinator_->RegisterWorker(WorkerRequest(0)).ok());
}

TEST_F(CoordinatorTest, TheFirstWorkersSamplesAreTheJobsWhenItNamesNone) {
  Start();
  v1::RegisterWorkerRequest request = WorkerRequest(1);
  request.set_train_data_checksum(0xabc);
  EXPECT_TRUE(coordinator_->RegisterWorker(request).ok());
  request = WorkerRequest(0);
  request.set_train_data_checksum(0xdef);
  EXPECT_THAT(coordinator_->RegisterWorker(request).status().message(),
              HasSubstr("samples as the worker that came first, but others"));
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
  EXPECT_THAT(
      Message(),
      HasSubstr("waits while server 1 restores its shards, 0 s so far"));
  EXPECT_THAT(log_, Contains("all servers are there; they restore their shards "
                             "from the checkpoint of step 40"));
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
            "waits for worker 1 of 2 to join, 4 s so far; gives up in 56 s");
  EXPECT_THAT(log_, Contains("all servers are there; they initialise their "
                             "shards"));
  EXPECT_THAT(log_, Contains("the shards are ready; training begins when "
                             "worker 1 has joined"));
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

TEST_F(CoordinatorTest, ANegativeStepIsRefused) {
  StartRunning();
  v1::ReportProgressRequest report = Report(1);
  report.set_step(-3);
  const absl::Status status = coordinator_->ReportProgress(report).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "worker 1 reports step -3, must be in [0, 2^52]");
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
  EXPECT_EQ(status.job_name(), job.job().name());
  v1::ShardMap map;
  ASSERT_TRUE(
      map.ParseFromString(metadata_->Get(Coordinator::kShardMapKey)->bytes));
  EXPECT_EQ(map.shard_owners_size(), kServers);
}

TEST_F(CoordinatorTest, TheKeptStatusIsNeverOld) {
  const auto kept = [this] {
    Run();
    v1::JobStatus status;
    EXPECT_TRUE(
        status.ParseFromString(metadata_->Get(Coordinator::kStatusKey)->bytes));
    return status;
  };
  Start();
  EXPECT_EQ(kept().state(), v1::JOB_STATE_JOINING)
      << "not that of a run before";
  const int64_t begin_ms = kept().written_time_ms();
  EXPECT_EQ(begin_ms, clock_.WallTimeMs());
  JoinAll();
  for (FakeServer& server : servers_) {
    server.assigns.Answer(0, v1::AssignShardsResponse());
  }
  for (int32_t id = 0; id < kWorkers; ++id) {
    v1::ReportProgressRequest report = Report(id);
    report.set_step(17);
    ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  }
  EXPECT_EQ(kept().step(), 0);
  AdvanceMs(Coordinator::kStatusIntervalMs);
  EXPECT_EQ(kept().step(), 17);
  EXPECT_EQ(kept().written_time_ms(),
            begin_ms + Coordinator::kStatusIntervalMs);
  EXPECT_EQ(coordinator_->GetJobStatus().written_time_ms(), 0);
}

TEST_F(CoordinatorTest, ReportsChangesForWatchers) {
  StartRunning();
  const int64_t before = coordinator_->change_count();
  EXPECT_EQ(coordinator_->change_count(), before);
  ASSERT_TRUE(coordinator_->ReportProgress(Report(0)).ok());
  EXPECT_GT(coordinator_->change_count(), before);
}

}  // namespace
}  // namespace selari
