// With journals a lost server comes to where it was, and nothing goes back.

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "server/coordinator/coordinator_fixture.h"

namespace selari {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class CoordinatorRecoveryTest : public CoordinatorFixture {
 protected:
  CoordinatorRecoveryTest() {
    options_.journal_directory = "/out/journals";
    options_.job.mutable_job()->mutable_checkpointing()->set_durability(
        v1::DURABILITY_JOURNALED);
    options_.job.mutable_job()->mutable_checkpointing()->set_every_steps(20);
    options_.resume = {"/out/step-40", 40, "digest"};
  }
  void AnswerAssigns(int64_t version) {
    for (FakeServer& server : servers_) {
      ASSERT_EQ(server.assigns.waiting(), 1u);
      v1::AssignShardsResponse response;
      response.add_shards()->set_max_version(version);
      server.assigns.Answer(0, response);
    }
    Run();
  }
  void LoseServer() {
    coordinator_->NoteDeath(v1::MEMBER_KIND_SERVER, 1, "was ended by signal 9");
    Run();
    ASSERT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
  }
  void ReplaceServer(uint64_t incarnation) {
    LoseServer();
    ASSERT_TRUE(JoinServer(1, incarnation).ok());
    ASSERT_EQ(coordinator_->state(), v1::JOB_STATE_INITIALIZING);
  }
  void ReportSteps(int64_t step, int64_t map_version) {
    for (int32_t worker = 0; worker < kWorkers; ++worker) {
      v1::ReportProgressRequest report = Report(worker);
      report.set_step(step);
      report.set_shard_map_version(map_version);
      report.set_finished(step == 100);
      ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
    }
    Run();
  }
  int64_t BaseMapVersion() {
    v1::RenewLeaseRequest request;
    request.set_kind(v1::MEMBER_KIND_WORKER);
    request.set_member_id(0);
    request.set_incarnation(200);
    return coordinator_->RenewLease(request)->base_map_version();
  }
  // The least step of the captures that wait at this server.
  int64_t FirstArmed(const FakeServer& server) {
    int64_t first = 1'000'000;
    for (size_t i = 0; i < server.saves.waiting(); ++i) {
      first = std::min(first, server.saves.request(i).step());
    }
    return first;
  }
};

TEST_F(CoordinatorRecoveryTest, FirstShardsBeginAnew) {
  Start();
  JoinAll();
  for (const FakeServer& server : servers_) {
    EXPECT_EQ(server.assigns.request(0).journal_directory(), "/out/journals");
    EXPECT_FALSE(server.assigns.request(0).recover());
  }
}

TEST_F(CoordinatorRecoveryTest, ALostServerIsWaitedForAndNothingGoesBack) {
  StartRunning();
  ReportSteps(57, 1);
  ReplaceServer(777);
  for (const FakeServer& server : servers_) {
    ASSERT_EQ(server.assigns.waiting(), 1u);
    EXPECT_TRUE(server.assigns.request(0).recover());
    EXPECT_EQ(server.assigns.request(0).checkpoint(), "/out/step-40");
    EXPECT_EQ(server.assigns.request(0).shard_map().version(), 2);
  }
  EXPECT_EQ(BaseMapVersion(), 1);
  AnswerAssigns(/*version=*/63);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(BaseMapVersion(), 1);
  EXPECT_EQ(coordinator_->GetShardMap()->shard_map().version(), 2);
  // What was done stays done, and what is done with the old map counts.
  EXPECT_EQ(coordinator_->GetJobStatus().step(), 57);
  ReportSteps(62, 1);
  EXPECT_EQ(coordinator_->GetJobStatus().step(), 62);
  EXPECT_THAT(log_, Contains(HasSubstr("server 1 was ended by signal 9; its "
                                       "journals have what it acknowledged")));
  EXPECT_THAT(log_, Not(Contains(HasSubstr("goes back"))));
}

// Reports are late: a shard says how far it is itself.
TEST_F(CoordinatorRecoveryTest, NoCheckpointIsAskedForThatShardsArePast) {
  StartRunning();
  EXPECT_EQ(FirstArmed(servers_[0]), 60);
  ReportSteps(57, 1);
  LoseServer();
  // What was armed is given up by the coordinator.
  for (FakeServer& server : servers_) {
    while (server.saves.waiting() > 0) {
      server.saves.Answer(0, absl::CancelledError("dropped"));
    }
  }
  Run();
  ASSERT_TRUE(JoinServer(1, 777).ok());
  AnswerAssigns(/*version=*/61);
  for (const FakeServer& server : servers_) {
    EXPECT_EQ(FirstArmed(server), 80);
  }
}

TEST_F(CoordinatorRecoveryTest, TheSameLifeKeepsItsShards) {
  StartRunning();
  AdvanceMs(6000);
  ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 0).ok());
  AdvanceMs(5000);
  ASSERT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
  ASSERT_TRUE(JoinServer(1, 101).ok());
  EXPECT_TRUE(servers_[1].assigns.request(0).recover());
  AnswerAssigns(50);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
}

TEST_F(CoordinatorRecoveryTest, AServerLostDuringARecoveryIsRecoveredToo) {
  StartRunning();
  ReplaceServer(777);
  coordinator_->NoteDeath(v1::MEMBER_KIND_SERVER, 0, "was ended by signal 9");
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
  for (FakeServer& server : servers_) {
    server.assigns.Answer(0, v1::AssignShardsResponse());  // too late
  }
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
  ASSERT_TRUE(JoinServer(0, 778).ok());
  for (const FakeServer& server : servers_) {
    EXPECT_TRUE(server.assigns.request(0).recover());
    EXPECT_EQ(server.assigns.request(0).shard_map().version(), 3);
  }
  AnswerAssigns(50);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(BaseMapVersion(), 1);
}

TEST_F(CoordinatorRecoveryTest, AWorkerThatCannotGoOnTakesTheJobBack) {
  options_.job.mutable_job()->mutable_compression();
  StartRunning();
  ReportSteps(57, 1);
  coordinator_->NoteDeath(v1::MEMBER_KIND_WORKER, 1, "was ended by signal 9");
  v1::RegisterWorkerRequest again = WorkerRequest(1);
  again.set_incarnation(999);
  ASSERT_TRUE(coordinator_->RegisterWorker(again).ok());
  Run();
  for (const FakeServer& server : servers_) {
    EXPECT_FALSE(server.assigns.request(0).recover());
    EXPECT_EQ(server.assigns.request(0).journal_directory(), "/out/journals");
  }
  EXPECT_EQ(BaseMapVersion(), 2);
  AnswerAssigns(40);
  EXPECT_EQ(coordinator_->GetJobStatus().step(), 40);
}

TEST_F(CoordinatorRecoveryTest, AWorkerReplacedDuringARecoveryGoesOnAfterIt) {
  StartRunning();
  LoseServer();
  coordinator_->NoteDeath(v1::MEMBER_KIND_WORKER, 1, "was ended by signal 9");
  v1::RegisterWorkerRequest again = WorkerRequest(1);
  again.set_incarnation(999);
  EXPECT_TRUE(coordinator_->RegisterWorker(again)->find_step());
  ASSERT_TRUE(JoinServer(1, 777).ok());
  for (const FakeServer& server : servers_) {
    EXPECT_TRUE(server.assigns.request(0).recover());
  }
  AnswerAssigns(50);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(BaseMapVersion(), 1);
}

// Then the recovery is of no use: the job goes back after all.
TEST_F(CoordinatorRecoveryTest, ALossThatARecoveryCannotMendTakesTheJobBack) {
  options_.job.mutable_job()->mutable_compression();
  StartRunning();
  LoseServer();
  coordinator_->NoteDeath(v1::MEMBER_KIND_WORKER, 1, "was ended by signal 9");
  v1::RegisterWorkerRequest again = WorkerRequest(1);
  again.set_incarnation(999);
  ASSERT_TRUE(coordinator_->RegisterWorker(again).ok());
  EXPECT_EQ(BaseMapVersion(), 2);
  ASSERT_TRUE(JoinServer(1, 777).ok());
  for (const FakeServer& server : servers_) {
    EXPECT_FALSE(server.assigns.request(0).recover());
  }
  AnswerAssigns(40);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(BaseMapVersion(), 2);
}

TEST_F(CoordinatorRecoveryTest, WorkersThatFinishedMeanwhileEndTheJob) {
  StartRunning();
  LoseServer();
  ReportSteps(100, 1);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
  ASSERT_TRUE(JoinServer(1, 777).ok());
  AnswerAssigns(100);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FINISHING);
}

TEST_F(CoordinatorRecoveryTest, TheLastCheckpointIsTakenAfterARecovery) {
  StartRunning();
  ReportSteps(100, 1);
  ASSERT_EQ(coordinator_->state(), v1::JOB_STATE_FINISHING);
  ReplaceServer(777);
  AnswerAssigns(100);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FINISHING);
}

TEST_F(CoordinatorRecoveryTest, AStopDuringARecoveryComesAfterIt) {
  StartRunning();
  LoseServer();
  absl::StatusOr<v1::StopJobResponse> answer =
      absl::UnknownError("not answered");
  coordinator_->StopJob([&](absl::StatusOr<v1::StopJobResponse> response) {
    answer = std::move(response);
  });
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
  ASSERT_TRUE(JoinServer(1, 777).ok());
  AnswerAssigns(50);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_STOPPING);
  EXPECT_EQ(answer.status().message(), "not answered");
  coordinator_->FailJob(absl::InternalError("the end"));
  Run();
  EXPECT_THAT(std::string(answer.status().message()), HasSubstr("the end"));
}

TEST_F(CoordinatorRecoveryTest, AStopIsAnsweredWhenTheJobFailsInstead) {
  StartRunning();
  LoseServer();
  absl::Status answer = absl::UnknownError("not answered");
  coordinator_->StopJob([&](const absl::StatusOr<v1::StopJobResponse>& reply) {
    answer = reply.status();
  });
  for (int i = 0; i < 8; ++i) {
    AdvanceMs(9000);
    Renew(v1::MEMBER_KIND_SERVER, 0).IgnoreError();
  }
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(std::string(answer.message()), HasSubstr("missing for 60 s"));
}

TEST_F(CoordinatorRecoveryTest, ADamagedJournalEndsTheJob) {
  StartRunning();
  ReplaceServer(777);
  servers_[1].assigns.Answer(
      0, absl::DataLossError("the journal of shard 1: bad record"));
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("server 1: the journal of shard 1: bad "
                                   "record; --resume goes on from the newest "
                                   "checkpoint"));
}

TEST_F(CoordinatorRecoveryTest, OnlyLossesWithoutProgressEndTheJob) {
  StartRunning();
  for (int loss = 0; loss < 30; ++loss) {
    ReportSteps(41 + loss, 1);
    ReplaceServer(1000 + static_cast<uint64_t>(loss));
    AnswerAssigns(41 + loss);
    ASSERT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING) << loss;
  }
  for (int loss = 0; loss < 30; ++loss) {
    coordinator_->NoteDeath(v1::MEMBER_KIND_SERVER, 1, "was ended by signal 9");
    Run();
    if (coordinator_->state() == v1::JOB_STATE_FAILED) {
      EXPECT_GT(loss, 5);
      return;
    }
    ASSERT_TRUE(JoinServer(1, 2000 + static_cast<uint64_t>(loss)).ok());
    AnswerAssigns(71);
  }
  FAIL() << "it goes on for ever";
}

TEST_F(CoordinatorRecoveryTest, APublishedCheckpointTrimsJournals) {
  StartRunning();
  std::string directory;
  for (int32_t id = 0; id < kServers; ++id) {
    ASSERT_EQ(servers_[id].saves.request(0).step(), 60);
    directory = servers_[id].saves.request(0).directory();
    v1::SaveShardsResponse response;
    response.add_files()->set_shard(id);
    EXPECT_EQ(servers_[id].trims.waiting(), 0u);
    servers_[id].saves.Answer(0, response);
  }
  Run();
  for (const FakeServer& server : servers_) {
    ASSERT_EQ(server.trims.waiting(), 1u);
    EXPECT_EQ(server.trims.request(0).step(), 60);
    EXPECT_EQ(server.trims.request(0).directory(), directory);
  }
}

}  // namespace
}  // namespace selari
