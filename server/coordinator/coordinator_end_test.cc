// How a job is saved and ends.

#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/coordinator_fixture.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

using CoordinatorEndTest = CoordinatorFixture;

TEST_F(CoordinatorEndTest, UpdatesThatAreMissingAtTheEndFailTheJob) {
  StartRunning();
  FinishWorkers();
  AnswerPauses(99);
  AnswerSaves();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("100 steps, but the weights have 99"));
}

TEST_F(CoordinatorEndTest, DoneWhenAllFinishedAndTheLastCheckpointIsSaved) {
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

TEST_F(CoordinatorEndTest, LastCheckpointThatFailsFailsTheJob) {
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

TEST_F(CoordinatorEndTest, PeriodicCheckpointThatFailsIsOnlySaid) {
  options_.job.mutable_job()->mutable_checkpointing()->set_every_steps(50);
  StartRunning();
  for (FakeServer& server : servers_) {
    server.saves.Answer(0, absl::PermissionDeniedError("read-only"));
  }
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_THAT(Message(), HasSubstr("step 50 failed: server 1: read-only"));
}

// The stop refused the gradients of the last step that the workers report.
TEST_F(CoordinatorEndTest, AfterAStopTheStepIsThatOfTheCheckpoint) {
  StartRunning();
  const auto report = [this] {
    for (int32_t id = 0; id < kWorkers; ++id) {
      v1::ReportProgressRequest report = Report(id);
      report.set_step(31);
      ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
    }
  };
  report();
  coordinator_->StopJob([](const absl::StatusOr<v1::StopJobResponse>&) {});
  Run();
  AnswerPauses(30);
  AnswerSaves();
  report();
  Run();
  const v1::JobStatus status = coordinator_->GetJobStatus();
  EXPECT_EQ(status.state(), v1::JOB_STATE_STOPPED);
  EXPECT_EQ(status.step(), 30);
  EXPECT_EQ(status.checkpoint_step(), 30);
  EXPECT_EQ(status.members(kServers).step(), 30);
  v1::JobStatus kept;
  ASSERT_TRUE(
      kept.ParseFromString(metadata_->Get(Coordinator::kStatusKey)->bytes));
  EXPECT_EQ(kept.step(), 30);
}

TEST_F(CoordinatorEndTest, TheStepIsNeverBehindTheCheckpoint) {
  StartRunning();
  coordinator_->SaveCheckpoint(
      [](const absl::StatusOr<v1::SaveCheckpointResponse>&) {});
  Run();
  AnswerPauses(30);
  AnswerSaves();
  const v1::JobStatus status = coordinator_->GetJobStatus();
  EXPECT_EQ(status.checkpoint_step(), 30);
  EXPECT_EQ(status.step(), 30);
}

TEST_F(CoordinatorEndTest, StopSavesAndIsIdempotent) {
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

TEST_F(CoordinatorEndTest, StopBeforeTheStartSavesNothing) {
  Start();
  std::optional<absl::StatusOr<v1::StopJobResponse>> stopped;
  coordinator_->StopJob([&](auto response) { stopped = response; });
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_STOPPED);
  EXPECT_TRUE(coordinator_->members_know_the_end());
  EXPECT_FALSE(coordinator_->all_members_came());
  ASSERT_TRUE(stopped.has_value() && stopped->ok());
  EXPECT_EQ((*stopped)->path(), "");
}

TEST_F(CoordinatorEndTest, SaveBeforeTheStartAndAfterTheEndIsRefused) {
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

TEST_F(CoordinatorEndTest, ServerLostWhileSavingEndsTheRequest) {
  StartRunning();
  std::optional<absl::Status> saved;
  coordinator_->SaveCheckpoint(
      [&](const auto& response) { saved = response.status(); });
  AdvanceMs(10'001);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(saved->message()),
              HasSubstr("server 0 was not heard of for 10000 ms"));
}

TEST_F(CoordinatorEndTest, WhoComesAfterTheEndIsToldSo) {
  StartRunning();
  coordinator_->FailJob(absl::InternalError("the end"));
  v1::RegisterServerRequest server;
  server.set_server_id(1);
  server.set_incarnation(999);
  server.set_address("host:9");
  server.set_instruction_set(v1::INSTRUCTION_SET_LEVEL4);
  EXPECT_THAT(
      std::string(coordinator_->RegisterServer(server).status().message()),
      HasSubstr("host:9 comes too late: job j is FAILED"));
  // Not one that was in it, and was only silent for too long.
  server.set_incarnation(101);
  EXPECT_TRUE(coordinator_->RegisterServer(server).ok());
  v1::RegisterWorkerRequest worker = WorkerRequest(1);
  worker.set_incarnation(998);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      coordinator_->RegisterWorker(worker).status()));
}

TEST_F(CoordinatorEndTest, OpenRequestsEndWithTheCoordinator) {
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
