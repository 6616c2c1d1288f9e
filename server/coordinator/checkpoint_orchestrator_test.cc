#include "server/coordinator/checkpoint_orchestrator.h"

#include <memory>
#include <optional>

#include "common/manual_executor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/coordinator/fake_checkpoint_store.h"
#include "server/shard_control/fake_shard_control.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kServers = 2;

// Two servers with one shard each: shard i on server i.
class CheckpointOrchestratorTest : public ::testing::Test {
 protected:
  CheckpointOrchestratorTest() {
    job_.set_job_id("j");
    job_.set_total_steps(100);
    job_.mutable_job()->mutable_cluster()->set_shard_count(kServers);
    job_.mutable_job()->mutable_cluster()->set_workers(2);
  }

  void Start(int64_t step = 0) {
    CheckpointOrchestrator::Environment environment;
    environment.post = [this](auto closure) { executor_.Post(closure); };
    environment.post_io = [this](auto closure) { io_.Post(closure); };
    environment.enter = [](const auto& event) { event(); };
    environment.store = &store_;
    environment.on_published = [this](const PublishedCheckpoint& published) {
      steps_.push_back(published.step);
    };
    environment.on_failed = [this](const absl::Status& status) {
      failure_ = status;
    };
    orchestrator_ = std::make_unique<CheckpointOrchestrator>(job_, environment);
    std::vector<CheckpointOrchestrator::Server> servers;
    for (int i = 0; i < kServers; ++i) {
      controls_.push_back(std::make_unique<FakeShardControl>(&servers_[i]));
      servers.push_back({i, 100u + i, controls_[i].get()});
    }
    orchestrator_->Start(servers, step);
    executor_.RunUntilIdle();
  }

  CheckpointOrchestrator::Done Into(
      std::optional<absl::StatusOr<PublishedCheckpoint>>* result) {
    return [result](absl::StatusOr<PublishedCheckpoint> published) {
      EXPECT_FALSE(result->has_value());
      *result = std::move(published);
    };
  }

  void AnswerPause(int server, int64_t min_version, int64_t max_version) {
    v1::PauseShardsResponse response;
    v1::ShardStatus* shard = response.add_shards();
    shard->set_shard(server);
    shard->set_min_version(min_version);
    shard->set_max_version(max_version);
    shard->set_state_bytes(4);
    servers_[server].pauses.Answer(0, response);
    executor_.RunUntilIdle();
  }

  // Answers the save for `step` as the server of one shard.
  void AnswerSave(int server, int64_t step, int64_t clock = 0) {
    v1::SaveShardsResponse response;
    response.add_files()->set_shard(server);
    v1::WorkerClock* worker = response.add_worker_clocks();
    worker->set_worker_id(server);
    worker->set_clock(clock);
    AnswerSaveWith(server, step, response);
  }
  void AnswerSaveWith(int server, int64_t step,
                      absl::StatusOr<v1::SaveShardsResponse> response) {
    auto& saves = servers_[server].saves;
    for (size_t i = 0; i < saves.waiting(); ++i) {
      if (saves.request(i).step() == step) {
        saves.Answer(i, std::move(response));
        executor_.RunUntilIdle();
        return;
      }
    }
    FAIL() << "server " << server << " has no save of step " << step;
  }

  std::vector<int64_t> StepsArmed(int server) {
    std::vector<int64_t> steps;
    for (size_t i = 0; i < servers_[server].saves.waiting(); ++i) {
      steps.push_back(servers_[server].saves.request(i).step());
    }
    return steps;
  }

  void RunIo() {
    io_.RunUntilIdle();
    executor_.RunUntilIdle();
  }

  v1::ResolvedJob job_;
  ManualExecutor executor_;
  ManualExecutor io_;
  FakeCheckpointStore store_;
  FakeServer servers_[kServers];
  std::vector<std::unique_ptr<FakeShardControl>> controls_;
  std::vector<int64_t> steps_;
  absl::Status failure_;
  std::unique_ptr<CheckpointOrchestrator> orchestrator_;
};

TEST_F(CheckpointOrchestratorTest, PeriodicStepsAreArmedAheadOnEveryServer) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(40);
  Start();
  EXPECT_THAT(StepsArmed(0), ElementsAre(40, 80));
  EXPECT_THAT(StepsArmed(1), ElementsAre(40, 80));
  EXPECT_EQ(servers_[1].saves.request(0).incarnation(), 101u);
  EXPECT_EQ(servers_[1].saves.request(0).job_id(), "j");
  EXPECT_EQ(servers_[0].saves.request(0).directory(),
            servers_[1].saves.request(0).directory());
  EXPECT_NE(servers_[0].saves.request(0).directory(),
            servers_[0].saves.request(1).directory());
}

TEST_F(CheckpointOrchestratorTest, PublishedWhenAllServersWrote) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(40);
  Start();
  AnswerSave(1, 40);
  RunIo();
  EXPECT_THAT(steps_, IsEmpty());
  AnswerSave(0, 40);
  RunIo();
  EXPECT_THAT(steps_, ElementsAre(40));
  ASSERT_EQ(store_.published.size(), 1u);
  ASSERT_EQ(store_.published[0].shards_size(), 2);
  EXPECT_EQ(store_.published[0].shards(0).shard(), 0);
  EXPECT_EQ(store_.published[0].step(), 40);
  EXPECT_EQ(store_.published[0].worker_clocks_size(), 0);
}

TEST_F(CheckpointOrchestratorTest, SlowPublishingMissesNoCheckpoint) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(1);
  Start();
  for (int64_t step = 1; step < 100; ++step) {
    AnswerSave(0, step);
    AnswerSave(1, step);
  }
  RunIo();
  EXPECT_EQ(steps_.size(), 99u);
}

TEST_F(CheckpointOrchestratorTest, FailedFileFailsTheCheckpointOnly) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(40);
  Start();
  const std::string directory = servers_[0].saves.request(0).directory();
  AnswerSaveWith(0, 40, absl::ResourceExhaustedError("disk full"));
  AnswerSave(1, 40);
  RunIo();
  EXPECT_EQ(failure_.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(failure_.message(),
              HasSubstr("the checkpoint at step 40 failed: server 0: disk "
                        "full"));
  EXPECT_THAT(store_.discarded, ElementsAre(directory));
  AnswerSave(0, 80);
  AnswerSave(1, 80);
  RunIo();
  EXPECT_THAT(steps_, ElementsAre(80));
}

TEST_F(CheckpointOrchestratorTest, FailedPublishingIsReported) {
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->Save(Into(&saved));
  executor_.RunUntilIdle();
  AnswerPause(0, 7, 7);
  AnswerPause(1, 7, 7);
  store_.next_error = absl::PermissionDeniedError("read-only");
  AnswerSave(0, 7);
  AnswerSave(1, 7);
  RunIo();
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(store_.discarded.size(), 1u);
}

TEST_F(CheckpointOrchestratorTest, OnDemandCutIsTheGreatestVersion) {
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->Save(Into(&saved));
  executor_.RunUntilIdle();
  AnswerPause(0, 7, 7);
  EXPECT_EQ(servers_[0].saves.waiting(), 0u);
  AnswerPause(1, 7, 8);
  EXPECT_THAT(StepsArmed(0), ElementsAre(8));
  EXPECT_TRUE(servers_[0].saves.request(0).resume());
  EXPECT_FALSE(servers_[0].saves.request(0).stop());
  EXPECT_FALSE(saved.has_value());
  AnswerSave(0, 8);
  AnswerSave(1, 8);
  RunIo();
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ((*saved)->step, 8);
}

TEST_F(CheckpointOrchestratorTest, CompressedJobIsCutWhereNothingIsHeldBack) {
  job_.mutable_job()->mutable_compression()->set_reset_every_steps(8);
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->Save(Into(&saved));
  executor_.RunUntilIdle();
  AnswerPause(0, 16, 17);
  AnswerPause(1, 17, 17);
  EXPECT_THAT(StepsArmed(0), ElementsAre(24));
  AnswerSave(0, 24);
  AnswerSave(1, 24);
  RunIo();
  ASSERT_TRUE(saved.has_value());
  ASSERT_TRUE(saved->ok()) << saved->status();
  EXPECT_EQ((*saved)->step, 24);

  std::optional<absl::StatusOr<PublishedCheckpoint>> stopped;
  orchestrator_->SaveAndStop(Into(&stopped));
  executor_.RunUntilIdle();
  AnswerPause(0, 97, 98);
  AnswerPause(1, 97, 97);
  EXPECT_THAT(StepsArmed(1), ElementsAre(100)) << "the last step is one, too";
}

// Nobody may come to compute the steps to the next multiple.
TEST_F(CheckpointOrchestratorTest, CompressedJobThatHasNotBegunIsCutAsItIs) {
  job_.mutable_job()->mutable_compression()->set_reset_every_steps(8);
  Start(/*step=*/20);
  std::optional<absl::StatusOr<PublishedCheckpoint>> stopped;
  orchestrator_->SaveAndStop(Into(&stopped));
  executor_.RunUntilIdle();
  AnswerPause(0, 20, 20);
  AnswerPause(1, 20, 20);
  EXPECT_THAT(StepsArmed(0), ElementsAre(20));
}

TEST_F(CheckpointOrchestratorTest, PauseThatFailsResumesEverybody) {
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->Save(Into(&saved));
  executor_.RunUntilIdle();
  AnswerPause(0, 7, 7);
  servers_[1].pauses.Answer(0, absl::UnavailableError("gone"));
  executor_.RunUntilIdle();
  ASSERT_TRUE(saved.has_value());
  EXPECT_THAT(saved->status().message(), HasSubstr("server 1: gone"));
  EXPECT_EQ(servers_[0].resumes.waiting(), 1u);
  EXPECT_EQ(servers_[1].resumes.waiting(), 1u);
}

TEST_F(CheckpointOrchestratorTest, ShardsTooFarApartAreABug) {
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->Save(Into(&saved));
  executor_.RunUntilIdle();
  AnswerPause(0, 7, 7);
  AnswerPause(1, 9, 9);
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->status().code(), absl::StatusCode::kInternal);
}

TEST_F(CheckpointOrchestratorTest, OnDemandJoinsThePeriodicCutOfTheSameStep) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(40);
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->Save(Into(&saved));
  executor_.RunUntilIdle();
  AnswerPause(0, 39, 40);
  AnswerPause(1, 40, 40);
  EXPECT_EQ(servers_[0].resumes.waiting(), 1u);
  EXPECT_THAT(StepsArmed(0), ElementsAre(40, 80));
  AnswerSave(0, 40);
  AnswerSave(1, 40);
  RunIo();
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ((*saved)->step, 40);
}

TEST_F(CheckpointOrchestratorTest, StopForgetsLaterPeriodicCuts) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(40);
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> first;
  std::optional<absl::StatusOr<PublishedCheckpoint>> second;
  orchestrator_->SaveAndStop(Into(&first));
  executor_.RunUntilIdle();
  AnswerPause(0, 7, 7);
  orchestrator_->SaveAndStop(Into(&second));
  AnswerPause(1, 7, 7);
  EXPECT_EQ(servers_[0].pauses.total(), 1);
  EXPECT_THAT(orchestrator_->Describe(),
              HasSubstr("step 7 waits for the files of server 0, server 1"));
  AnswerSave(0, 7);
  AnswerSave(1, 7);
  AnswerSaveWith(0, 40, absl::CancelledError("never reached"));
  RunIo();
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ((*first)->step, 7);
  EXPECT_EQ((*second)->step, 7);
  EXPECT_TRUE(failure_.ok());
}

TEST_F(CheckpointOrchestratorTest, ArmedCaptureIsRepeatedAfterItsDeadline) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(50);
  Start();
  const std::string directory = servers_[0].saves.request(0).directory();
  for (int i = 0; i < 10; ++i) {
    AnswerSaveWith(0, 50, absl::DeadlineExceededError("an hour"));
  }
  EXPECT_THAT(StepsArmed(0), ElementsAre(50));
  EXPECT_EQ(servers_[0].saves.request(0).directory(), directory);
  AnswerSaveWith(0, 50, absl::UnavailableError("cut"));
  EXPECT_THAT(StepsArmed(0), IsEmpty());
}

TEST_F(CheckpointOrchestratorTest, BoundedCapturesAsItIsAtTheSlowestClock) {
  job_.mutable_job()->mutable_consistency()->set_mode(v1::CONSISTENCY_BOUNDED);
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(10);
  Start();
  orchestrator_->OnProgress(9);
  executor_.RunUntilIdle();
  EXPECT_EQ(servers_[0].pauses.waiting(), 0u);
  orchestrator_->OnProgress(12);
  orchestrator_->OnProgress(13);
  executor_.RunUntilIdle();
  ASSERT_EQ(servers_[0].pauses.waiting(), 1u);
  AnswerPause(0, 20, 30);
  AnswerPause(1, 25, 26);
  EXPECT_THAT(StepsArmed(0), ElementsAre(-1));
  AnswerSave(0, -1, /*clock=*/14);
  AnswerSave(1, -1, /*clock=*/12);
  RunIo();
  ASSERT_EQ(store_.published.size(), 1u);
  EXPECT_EQ(store_.published[0].step(), 24);
  EXPECT_EQ(store_.published[0].worker_clocks_size(), 2);
}

TEST_F(CheckpointOrchestratorTest, FinishedBoundedJobHasAllItsSteps) {
  job_.mutable_job()->mutable_consistency()->set_mode(v1::CONSISTENCY_BOUNDED);
  job_.set_total_steps(99);
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->OnProgress(99);
  orchestrator_->SaveAndStop(Into(&saved));
  executor_.RunUntilIdle();
  AnswerPause(0, 20, 30);
  AnswerPause(1, 25, 26);
  AnswerSave(0, -1, /*clock=*/50);
  AnswerSave(1, -1, /*clock=*/49);
  RunIo();
  ASSERT_TRUE(saved.has_value() && saved->ok());
  EXPECT_EQ((*saved)->step, 99);
}

TEST_F(CheckpointOrchestratorTest, InterruptEndsRequestsAndStartBeginsAnew) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(40);
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->Save(Into(&saved));
  executor_.RunUntilIdle();
  const size_t armed = servers_[0].saves.waiting();
  orchestrator_->Interrupt(absl::UnavailableError("server 1 was lost"));
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->status().code(), absl::StatusCode::kUnavailable);
  // Answers of before count for nothing.
  AnswerPause(0, 7, 7);
  AnswerSave(0, 40);
  AnswerSave(1, 40);
  RunIo();
  EXPECT_THAT(store_.published, IsEmpty());
  const size_t left = servers_[0].saves.waiting();

  std::vector<CheckpointOrchestrator::Server> servers;
  for (int i = 0; i < kServers; ++i) {
    servers.push_back({i, 200u + i, controls_[i].get()});
  }
  orchestrator_->Start(servers, /*step=*/0);
  executor_.RunUntilIdle();
  EXPECT_EQ(servers_[0].saves.waiting(), left + armed);
  EXPECT_EQ(servers_[0].saves.request(left).step(), 40);
  EXPECT_EQ(servers_[0].saves.request(left).incarnation(), 200u);
}

TEST_F(CheckpointOrchestratorTest, AbortEndsEveryRequest) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(40);
  Start();
  std::optional<absl::StatusOr<PublishedCheckpoint>> saved;
  orchestrator_->Save(Into(&saved));
  executor_.RunUntilIdle();
  orchestrator_->Abort(absl::AbortedError("server 1 lost its shards"));
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->status().code(), absl::StatusCode::kAborted);
  AnswerPause(0, 7, 7);
  AnswerSave(0, 40);
  AnswerSave(1, 40);
  RunIo();
  EXPECT_THAT(store_.published, IsEmpty());
  EXPECT_EQ(store_.discarded.size(), 2u);
}

TEST_F(CheckpointOrchestratorTest, ShardWrittenTwiceOrNotAtAllIsRefused) {
  job_.mutable_job()->mutable_checkpointing()->set_every_steps(50);
  Start();
  v1::SaveShardsResponse shard_1;
  shard_1.add_files()->set_shard(1);
  AnswerSaveWith(0, 50, shard_1);
  AnswerSave(1, 50);
  RunIo();
  EXPECT_EQ(failure_.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(store_.published, IsEmpty());
}

}  // namespace
}  // namespace selari
