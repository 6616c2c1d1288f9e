// Members that are lost while the job runs, and what comes after.

#include <algorithm>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "server/coordinator/coordinator_fixture.h"

namespace selari {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class CoordinatorLossTest : public CoordinatorFixture {
 protected:
  void AnswerAssigns() {
    for (FakeServer& server : servers_) {
      ASSERT_EQ(server.assigns.waiting(), 1u);
      server.assigns.Answer(0, v1::AssignShardsResponse());
    }
    Run();
  }
  // Server 1 dies and another process takes its place.
  void ReplaceServer(uint64_t incarnation) {
    coordinator_->NoteDeath(v1::MEMBER_KIND_SERVER, 1, "was ended by signal 9");
    Run();
    EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
    ASSERT_TRUE(JoinServer(1, incarnation).ok());
  }
  absl::StatusOr<v1::RegisterWorkerResponse> ReplaceWorker(
      uint64_t incarnation) {
    coordinator_->NoteDeath(v1::MEMBER_KIND_WORKER, 1, "was ended by signal 9");
    v1::RegisterWorkerRequest request = WorkerRequest(1);
    request.set_incarnation(incarnation);
    return coordinator_->RegisterWorker(request);
  }
  int LinesWith(absl::string_view part) const {
    return static_cast<int>(
        std::count_if(log_.begin(), log_.end(), [&](const std::string& line) {
          return absl::StrContains(line, part);
        }));
  }
  void ReportSteps(int32_t worker, int64_t step, int64_t map_version) {
    v1::ReportProgressRequest report = Report(worker);
    report.set_step(step);
    report.set_shard_map_version(map_version);
    ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  }
};

TEST_F(CoordinatorLossTest, ALostServerTakesTheJobBackToTheNewestCheckpoint) {
  options_.resume = {"/out/step-40", 40, "digest"};
  StartRunning();
  ReportSteps(0, 60, 1);
  ReportSteps(1, 60, 1);
  EXPECT_EQ(coordinator_->GetShardMap()->start_step(), 59);

  ReplaceServer(777);

  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_INITIALIZING);
  for (const FakeServer& server : servers_) {
    ASSERT_EQ(server.assigns.waiting(), 1u);
    EXPECT_EQ(server.assigns.request(0).checkpoint(), "/out/step-40");
    EXPECT_EQ(server.assigns.request(0).shard_map().version(), 2);
  }
  EXPECT_EQ(servers_[1].assigns.request(0).incarnation(), 777u);
  EXPECT_EQ(servers_[0].assigns.request(0).incarnation(), 100u);
  AnswerAssigns();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(coordinator_->GetShardMap()->start_step(), 40);
  EXPECT_EQ(coordinator_->GetShardMap()->shard_map().version(), 2);
  EXPECT_EQ(coordinator_->GetJobStatus().step(), 40);
  EXPECT_THAT(log_, Contains(HasSubstr(
                        "server 1 was ended by signal 9 and lost its shards; "
                        "the job goes back to its checkpoint of step 40")));
}

TEST_F(CoordinatorLossTest, ASilentServerIsWaitedFor) {
  StartRunning();
  AdvanceMs(6000);
  ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 0).ok());
  AdvanceMs(5000);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
  EXPECT_THAT(Message(), HasSubstr("waits for server 1"));
  EXPECT_EQ(LinesWith("server 1 was not heard of"), 1);
  // It was only slow: the same life comes back, and goes back too.
  ASSERT_TRUE(JoinServer(1, 101).ok());
  EXPECT_EQ(servers_[1].assigns.request(0).checkpoint(), "");
  AnswerAssigns();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
}

TEST_F(CoordinatorLossTest, AServerThatStaysAwayEndsTheJob) {
  StartRunning();
  coordinator_->NoteDeath(v1::MEMBER_KIND_SERVER, 1, "was ended by signal 9");
  for (int i = 0; i < 7; ++i) {
    AdvanceMs(9000);
    Renew(v1::MEMBER_KIND_SERVER, 0).IgnoreError();
  }
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("server 1 has been missing for 60 s"));
}

TEST_F(CoordinatorLossTest, WorkOfBeforeDoesNotCount) {
  StartRunning();
  ReportSteps(0, 60, 1);
  ReplaceServer(777);
  AnswerAssigns();
  v1::ReportProgressRequest late = Report(0);
  late.set_step(61);
  late.set_shard_map_version(1);
  late.mutable_totals()->set_samples(488);
  ASSERT_TRUE(coordinator_->ReportProgress(late).ok());
  EXPECT_EQ(coordinator_->GetJobStatus().members(2).step(), 0);
  EXPECT_EQ(coordinator_->GetJobStatus().members(2).totals().samples(), 488)
      << "it was computed, if in vain";
  ReportSteps(0, 3, 2);
  EXPECT_EQ(coordinator_->GetJobStatus().members(2).step(), 3);
}

TEST_F(CoordinatorLossTest, AnotherLifeOfAWorkerFindsTheStepOfTheOthers) {
  StartRunning();
  EXPECT_FALSE(coordinator_->RegisterWorker(WorkerRequest(1))->find_step());
  ReportSteps(0, 60, 1);
  const auto next = ReplaceWorker(555);
  EXPECT_TRUE(next->find_step());
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(coordinator_->GetShardMap()->shard_map().version(), 1);
  EXPECT_EQ(coordinator_->GetJobStatus().members(2).step(), 60);
  EXPECT_THAT(log_, Contains(HasSubstr("worker 1 begins anew, at the step that "
                                       "the others are at")));
  // An answer that was lost is asked for again.
  v1::RegisterWorkerRequest again = WorkerRequest(1);
  again.set_incarnation(555);
  EXPECT_TRUE(coordinator_->RegisterWorker(again)->find_step());
  Run();
  EXPECT_EQ(LinesWith("begins anew"), 1);
}

// What it held back of compressed gradients is gone with it, and a user's own
// worker begins where the map says.
TEST_F(CoordinatorLossTest, AWorkerThatCannotFindTheStepTakesTheJobBack) {
  const v1::ResolvedJob plain = options_.job;
  for (const bool custom : {false, true}) {
    SCOPED_TRACE(custom);
    options_.job = plain;
    if (custom) {
      options_.job.mutable_job()->mutable_model()->mutable_custom();
    } else {
      options_.job.mutable_job()->mutable_compression();
    }
    StartRunning();
    ReportSteps(0, 60, 1);
    const auto next = ReplaceWorker(555);
    EXPECT_FALSE(next->find_step());
    Run();
    EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_INITIALIZING);
    AnswerAssigns();
    EXPECT_EQ(coordinator_->GetShardMap()->start_step(), 0);
    EXPECT_EQ(coordinator_->GetShardMap()->shard_map().version(), 2);
  }
}

TEST_F(CoordinatorLossTest, AWorkerThatDiesWithoutAnyProgressEndsTheJob) {
  StartRunning();
  uint64_t incarnation = 500;
  for (int64_t step = 1; step <= 20; ++step) {
    ReportSteps(0, step, 1);
    ASSERT_TRUE(ReplaceWorker(++incarnation).ok());
    v1::ReportProgressRequest report = Report(1);
    report.set_incarnation(incarnation);
    report.set_step(step);
    report.set_shard_map_version(1);
    ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  }
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  for (int i = 0; i < 11; ++i) {
    EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING) << i;
    ReplaceWorker(++incarnation).IgnoreError();
  }
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("worker 1 begins anew"));
}

TEST_F(CoordinatorLossTest, WhatAWorkersLivesDidIsAddedUp) {
  StartRunning();
  v1::ReportProgressRequest report = Report(1);
  report.mutable_totals()->set_samples(60);
  ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  ASSERT_TRUE(ReplaceWorker(555).ok());
  report.set_incarnation(555);
  report.mutable_totals()->set_samples(7);
  ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  EXPECT_EQ(coordinator_->GetJobStatus().members(3).totals().samples(), 67);
}

TEST_F(CoordinatorLossTest, TheSameLifeOfAWorkerChangesNothing) {
  StartRunning();
  AdvanceMs(9000);
  Renew(v1::MEMBER_KIND_SERVER, 0).IgnoreError();
  Renew(v1::MEMBER_KIND_SERVER, 1).IgnoreError();
  AdvanceMs(2000);
  ASSERT_TRUE(JoinWorker(1).ok());
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(coordinator_->GetShardMap()->shard_map().version(), 1);
}

TEST_F(CoordinatorLossTest, WithoutOrderAWorkerIsReplacedAtOnce) {
  options_.job.mutable_job()->mutable_consistency()->set_mode(
      v1::CONSISTENCY_ASYNC);
  StartRunning();
  EXPECT_FALSE(ReplaceWorker(555)->find_step());
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
}

TEST_F(CoordinatorLossTest, AServerLostBeforeItHasItsShardsIsWaitedForAgain) {
  StartRunning();
  ReplaceServer(777);
  servers_[1].assigns.Answer(0, absl::UnavailableError("connection refused"));
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_JOINING);
  ASSERT_TRUE(JoinServer(1, 778).ok());
  // What server 0 says of the map before comes too late.
  ASSERT_EQ(servers_[0].assigns.waiting(), 2u);
  servers_[0].assigns.Answer(0, v1::AssignShardsResponse());
  Run();
  AnswerAssigns();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(coordinator_->GetShardMap()->shard_map().version(), 3);
}

TEST_F(CoordinatorLossTest, TheLastCheckpointIsTakenAgain) {
  StartRunning();
  for (int32_t id = 0; id < kWorkers; ++id) {
    v1::ReportProgressRequest report = Report(id);
    report.set_step(100);
    report.set_finished(true);
    ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  }
  Run();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FINISHING);
  ReplaceServer(777);
  AnswerAssigns();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(coordinator_->GetShardMap()->start_step(), 0);
  // The pauses of the first try are answered late.
  for (FakeServer& server : servers_) {
    server.pauses.Answer(0, v1::PauseShardsResponse());
  }
  for (int32_t id = 0; id < kWorkers; ++id) {
    v1::ReportProgressRequest report = Report(id);
    report.set_step(100);
    report.set_finished(true);
    report.set_shard_map_version(2);
    ASSERT_TRUE(coordinator_->ReportProgress(report).ok());
  }
  Run();
  AnswerPauses(100);
  AnswerSaves();
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_DONE) << Message();
}

TEST_F(CoordinatorLossTest, AStopWhileAServerIsAwaitedSaysThatNothingIsSaved) {
  StartRunning();
  coordinator_->NoteDeath(v1::MEMBER_KIND_SERVER, 1, "was ended by signal 9");
  coordinator_->StopJob([](const auto&) {});
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("nothing was saved before"));
}

TEST_F(CoordinatorLossTest, AWorkerThatDiesWhileTheJobStopsMayComeAgain) {
  StartRunning();
  coordinator_->StopJob([](const auto&) {});
  EXPECT_TRUE(ReplaceWorker(555)->find_step());
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_STOPPING);
}

TEST_F(CoordinatorLossTest, AWorkerThatDiesWhileTheJobStopsSpoilsNoCheckpoint) {
  options_.job.mutable_job()->mutable_compression();
  StartRunning();
  coordinator_->StopJob([](const auto&) {});
  ASSERT_TRUE(ReplaceWorker(555).ok());
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("worker 1 begins anew"));
}

// The cut of a stop may need what a worker that died would have pushed.
TEST_F(CoordinatorLossTest, AStopDoesWithoutALostWorkerAfterALease) {
  options_.resume = {"/out/step-40", 40, "digest"};
  StartRunning();
  ReportSteps(0, 60, 1);
  coordinator_->NoteDeath(v1::MEMBER_KIND_WORKER, 1, "was ended by signal 9");
  absl::StatusOr<v1::StopJobResponse> stopped = absl::UnknownError("waits");
  coordinator_->StopJob([&](absl::StatusOr<v1::StopJobResponse> reply) {
    stopped = std::move(reply);
  });
  Run();
  AnswerPauses(60);
  EXPECT_THAT(Message(), HasSubstr("may need worker 1's part of a step"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_STOPPING);
    AdvanceMs(5001);
    ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 0).ok());
    ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 1).ok());
    ASSERT_TRUE(Renew(v1::MEMBER_KIND_WORKER, 0).ok());
  }
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_STOPPED);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->path(), "/out/step-40");
  EXPECT_EQ(coordinator_->GetJobStatus().step(), 40);
  EXPECT_TRUE(coordinator_->result().ok());
  EXPECT_EQ(LinesWith("worker 1 was lost in the middle of a step, which cannot "
                      "be saved; the newest checkpoint is of step 40"),
            1);
}

TEST_F(CoordinatorLossTest, AStopThatCanSaveNothingSaysSo) {
  StartRunning();
  coordinator_->NoteDeath(v1::MEMBER_KIND_WORKER, 1, "was ended by signal 9");
  coordinator_->StopJob([](const auto&) {});
  Run();
  AdvanceMs(9000);
  ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 0).ok());
  ASSERT_TRUE(Renew(v1::MEMBER_KIND_SERVER, 1).ok());
  AdvanceMs(1001);
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(), HasSubstr("nothing was saved before"));
}

TEST_F(CoordinatorLossTest, AJobThatLosesMembersAllTheTimeEnds) {
  StartRunning();
  uint64_t incarnation = 500;
  for (int i = 0; i < 10; ++i) {
    ReplaceServer(++incarnation);
    AnswerAssigns();
  }
  coordinator_->NoteDeath(v1::MEMBER_KIND_SERVER, 1, "was ended by signal 9");
  EXPECT_EQ(coordinator_->state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(Message(),
              HasSubstr("it is the 11th loss of a member while the job "
                        "got no further than its beginning; set "
                        "checkpointing.every_steps"));
}

}  // namespace
}  // namespace selari
