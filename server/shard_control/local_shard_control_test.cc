#include "server/shard_control/local_shard_control.h"

#include <cerrno>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/error_reason.h"
#include "common/fake_clock.h"
#include "common/fault_file_env.h"
#include "common/job_config.h"
#include "common/manual_executor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/log/journal_files.h"
#include "server/log/journal_writer.h"
#include "server/shard_control/manual_shard_host.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint64_t kIncarnation = 77;

// Server 1 of two, with shards 1 and (of 3) no other.
class LocalShardControlTest : public ::testing::Test {
 protected:
  LocalShardControlTest() {
    LocalShardControl::Options options;
    options.incarnation = kIncarnation;
    options.unwritten_captures_max = 2;
    LocalShardControl::Environment environment;
    environment.host = &host_;
    environment.file_env = &env_;
    environment.clock = &clock_;
    auto executor = std::make_unique<ManualExecutor>();
    auto disk = std::make_unique<ManualExecutor>();
    executor_ = executor.get();
    disk_ = disk.get();
    environment.control_executor = std::move(executor);
    environment.disk_executor = std::move(disk);
    environment.on_ready = [this] { ++ready_; };
    environment.on_end = [this](const v1::EndJobRequest&) { ++ended_; };
    environment.log = [this](const std::string& sentence) {
      log_.push_back(sentence);
    };
    control_ =
        std::make_unique<LocalShardControl>(options, std::move(environment));
  }

  template <class Response>
  ShardControl::Done<Response> Into(
      std::optional<absl::StatusOr<Response>>* result) {
    return [result](absl::StatusOr<Response> response) {
      EXPECT_FALSE(result->has_value());
      *result = std::move(response);
    };
  }

  v1::AssignShardsRequest AssignRequest() {
    v1::AssignShardsRequest request;
    *request.mutable_job() = ExampleJob(example_);
    FillJobDefaults(request.mutable_job()->mutable_job());
    request.set_incarnation(kIncarnation);
    request.set_server_id(1);
    request.mutable_shard_map()->set_version(1);
    for (const int32_t owner : {0, 1, 0}) {
      request.mutable_shard_map()->add_shard_owners(owner);
    }
    return request;
  }
  absl::StatusOr<v1::AssignShardsResponse> Assign(
      const v1::AssignShardsRequest& request) {
    std::optional<absl::StatusOr<v1::AssignShardsResponse>> result;
    control_->AssignShards(request, Into(&result));
    executor_->RunUntilIdle();
    return *result;
  }
  void Pause() {
    v1::PauseShardsRequest request;
    request.set_job_id(example_.job_id);
    request.set_incarnation(kIncarnation);
    control_->PauseShards(request, [](const auto& response) {
      ASSERT_TRUE(response.ok()) << response.status();
    });
    executor_->RunUntilIdle();
  }
  v1::SaveShardsRequest SaveRequest(int64_t step) {
    v1::SaveShardsRequest request;
    request.set_job_id(example_.job_id);
    request.set_incarnation(kIncarnation);
    request.set_step(step);
    request.set_directory("/out/attempt");
    return request;
  }
  void Save(const v1::SaveShardsRequest& request,
            std::optional<absl::StatusOr<v1::SaveShardsResponse>>* result) {
    control_->SaveShards(request, Into(result));
    executor_->RunUntilIdle();
  }
  // The host reaches the step of capture `i`.
  void Capture(size_t i) {
    host_.captures[i].done(
        std::vector<ShardSnapshot>{ExampleSnapshots(example_)[1]});
    executor_->RunUntilIdle();
  }
  void RunAll() {
    while (executor_->RunUntilIdle() + disk_->RunUntilIdle() > 0) {
    }
  }

  ExampleOptions example_;
  FaultFileEnv env_;
  FakeClock clock_;
  ManualShardHost host_;
  ManualExecutor* executor_ = nullptr;
  ManualExecutor* disk_ = nullptr;
  int ready_ = 0;
  int ended_ = 0;
  std::vector<std::string> log_;
  std::unique_ptr<LocalShardControl> control_;
};

TEST_F(LocalShardControlTest, AnotherLifeOrJobIsRefused) {
  v1::AssignShardsRequest request = AssignRequest();
  request.set_incarnation(5);
  EXPECT_EQ(ReasonOf(Assign(request).status()), ErrorReason::kStaleIncarnation);
  EXPECT_EQ(ready_, 0);

  ASSERT_TRUE(Assign(AssignRequest()).ok());
  v1::SaveShardsRequest save = SaveRequest(7);
  save.set_job_id("other");
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(save, &saved);
  EXPECT_EQ(ReasonOf(saved->status()), ErrorReason::kWrongJob);
}

TEST_F(LocalShardControlTest, NothingWorksBeforeShardsAreAssigned) {
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(SaveRequest(7), &saved);
  EXPECT_EQ(ReasonOf(saved->status()), ErrorReason::kNotInitialized);
}

TEST_F(LocalShardControlTest, HostsTheShardsOfItsId) {
  const auto response = Assign(AssignRequest());
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->shards_size(), 1);
  EXPECT_EQ(response->shards(0).shard(), 1);
  EXPECT_TRUE(Assign(AssignRequest()).ok());
  EXPECT_THAT(host_.shards(), ElementsAre(1));
  EXPECT_EQ(ready_, 1);
}

TEST_F(LocalShardControlTest, RestoresTheShardsOfItsId) {
  const auto dir = WriteExample(env_, "/out/checkpoints", example_);
  ASSERT_TRUE(dir.ok()) << dir.status();
  v1::AssignShardsRequest request = AssignRequest();
  request.set_checkpoint(*dir);
  const auto response = Assign(request);
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(host_.restored.size(), 1u);
  EXPECT_EQ(host_.restored[0].shard, 1);
  EXPECT_EQ(host_.restored[0].version, example_.step);
}

TEST_F(LocalShardControlTest, ANewerMapTakesItsShardsBack) {
  const auto dir = WriteExample(env_, "/out/checkpoints", example_);
  ASSERT_TRUE(dir.ok()) << dir.status();
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  Pause();
  v1::AssignShardsRequest request = AssignRequest();
  request.mutable_shard_map()->set_version(2);
  request.set_checkpoint(*dir);

  ASSERT_TRUE(Assign(request).ok());

  ASSERT_EQ(host_.restored.size(), 1u);
  EXPECT_EQ(host_.restored[0].version, example_.step);
  EXPECT_FALSE(host_.paused) << "whoever paused is gone";
  host_.restored.clear();
  EXPECT_TRUE(Assign(request).ok());
  EXPECT_TRUE(host_.restored.empty()) << "a repeat";
  EXPECT_EQ(Assign(AssignRequest()).status().message(),
            "this server has its shards by map 2, map 1 is older");
  request.mutable_shard_map()->set_version(3);
  request.mutable_shard_map()->set_shard_owners(0, 1);
  EXPECT_EQ(Assign(request).status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(ready_, 1);
}

TEST_F(LocalShardControlTest, KeepsJournalsAndComesBackByThem) {
  v1::AssignShardsRequest request = AssignRequest();
  request.set_journal_directory("/out/journals");
  ASSERT_TRUE(Assign(request).ok());
  ASSERT_EQ(host_.seats.count(1), 1u);
  EXPECT_NE(host_.seats[1].log, nullptr);
  EXPECT_FALSE(ListJournalFiles(env_, "/out/journals", 1)->empty());
  EXPECT_TRUE(log_.empty());

  // Another server came back: these shards stay, and captures are given up.
  const ShardState* const state = host_.seats[1].state.get();
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(SaveRequest(7), &saved);
  Pause();
  request.mutable_shard_map()->set_version(2);
  request.set_recover(true);
  ASSERT_TRUE(Assign(request).ok());
  EXPECT_EQ(host_.seats[1].state.get(), state);
  RunAll();
  ASSERT_TRUE(saved.has_value());
  EXPECT_TRUE(absl::IsCancelled(saved->status())) << saved->status();
  EXPECT_FALSE(host_.paused);

  // The job goes back.
  request.mutable_shard_map()->set_version(3);
  request.set_recover(false);
  ASSERT_TRUE(Assign(request).ok());
  EXPECT_NE(host_.seats[1].state.get(), state);
}

TEST_F(LocalShardControlTest, AFreshServerReadsTheJournals) {
  v1::AssignShardsRequest request = AssignRequest();
  request.set_recover(true);
  EXPECT_TRUE(absl::IsInvalidArgument(Assign(request).status()));
  request.set_journal_directory("/out/journals");
  const absl::Status missing = Assign(request).status();
  EXPECT_TRUE(absl::IsDataLoss(missing)) << missing;
  {
    auto writer =
        JournalWriter::Open(&env_, {"/out/journals", {example_.job_id, 1}, 0});
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->StartFile(0).ok());
  }
  ASSERT_TRUE(Assign(request).ok());
  EXPECT_EQ(ready_, 1);
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_EQ(log_[0].substr(0, 17), "recovered 1 shard");
}

TEST_F(LocalShardControlTest, TrimsByTheSaveThatWasPublished) {
  v1::AssignShardsRequest request = AssignRequest();
  request.set_journal_directory("/out/journals");
  ASSERT_TRUE(Assign(request).ok());
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(SaveRequest(7), &saved);
  std::vector<ShardSnapshot> snapshots = {ExampleSnapshots(example_)[1]};
  snapshots[0].log_sequence = 42;
  host_.captures[0].done(snapshots);
  RunAll();
  ASSERT_TRUE(saved.has_value() && saved->ok());
  EXPECT_EQ((*saved)->files(0).journal_sequence(), 42);

  v1::TrimJournalsRequest trim;
  trim.set_job_id(example_.job_id);
  trim.set_incarnation(kIncarnation);
  trim.set_step(7);
  for (const char* directory : {"/out/attempt", "/out/unknown"}) {
    trim.set_directory(directory);
    std::optional<absl::StatusOr<v1::TrimJournalsResponse>> trimmed;
    control_->TrimJournals(trim, Into(&trimmed));
    RunAll();
    EXPECT_TRUE(trimmed.has_value() && trimmed->ok());
  }
  const std::map<int32_t, int64_t> first = {{1, 42}};
  ASSERT_EQ(host_.trims.size(), 2u);
  EXPECT_EQ(host_.trims[0], first);
  EXPECT_TRUE(host_.trims[1].empty());
}

TEST_F(LocalShardControlTest, DamagedCheckpointIsNamed) {
  const auto dir = WriteExample(env_, "/out/checkpoints", example_);
  ASSERT_TRUE(dir.ok()) << dir.status();
  const std::string path = JoinPath(*dir, ShardFileName(1));
  std::string bytes = *ReadFile(env_, path, 1 << 20);
  bytes.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomically(env_, path, bytes).ok());
  v1::AssignShardsRequest request = AssignRequest();
  request.set_checkpoint(*dir);
  const auto response = Assign(request);
  EXPECT_EQ(response.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(response.status().message(), HasSubstr(ShardFileName(1)));
  EXPECT_EQ(ready_, 0);
}

TEST_F(LocalShardControlTest, SaveWritesWhatWasCaptured) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(SaveRequest(7), &saved);
  ASSERT_EQ(host_.captures.size(), 1u);
  EXPECT_EQ(host_.captures[0].step, 7);
  Capture(0);
  EXPECT_FALSE(saved.has_value());
  RunAll();
  ASSERT_TRUE(saved.has_value() && saved->ok());
  ASSERT_EQ((*saved)->files_size(), 1);
  EXPECT_EQ((*saved)->files(0).shard(), 1);
  EXPECT_TRUE(*env_.Exists("/out/attempt/" + ShardFileName(1)));
}

TEST_F(LocalShardControlTest, RepeatedSaveJoinsTheFirst) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> first;
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> second;
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> third;
  Save(SaveRequest(7), &first);
  Save(SaveRequest(7), &second);
  EXPECT_EQ(host_.captures.size(), 1u);
  Capture(0);
  RunAll();
  Save(SaveRequest(7), &third);
  EXPECT_EQ(host_.captures.size(), 1u);
  EXPECT_TRUE(first->ok() && second->ok() && third->ok());
}

TEST_F(LocalShardControlTest, FullDiskFailsTheSaveOnly) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  env_.SetCapacityBytes(100);
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(SaveRequest(7), &saved);
  Capture(0);
  RunAll();
  EXPECT_EQ(saved->status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_FALSE(host_.paused);
}

TEST_F(LocalShardControlTest, StepThatHasPassedIsRefused) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(SaveRequest(7), &saved);
  host_.captures[0].done(absl::FailedPreconditionError("shard 1 is at 8"));
  RunAll();
  EXPECT_EQ(saved->status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(LocalShardControlTest, PauseEndsWithACaptureThatResumes) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  Pause();
  EXPECT_TRUE(host_.paused);
  v1::SaveShardsRequest request = SaveRequest(7);
  request.set_resume(true);
  request.set_stop(true);
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(request, &saved);
  EXPECT_FALSE(host_.paused);
  EXPECT_TRUE(host_.captures[0].stop);
  control_.reset();  // Before `saved`, which it answers.
}

TEST_F(LocalShardControlTest, PauseEndsByItself) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  Pause();
  clock_.AdvanceMs(9'999);
  control_->Tick();
  executor_->RunUntilIdle();
  EXPECT_TRUE(host_.paused);
  clock_.AdvanceMs(1);
  control_->Tick();
  executor_->RunUntilIdle();
  EXPECT_FALSE(host_.paused);
}

TEST_F(LocalShardControlTest, ShardsWaitForASlowDisk) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved[2];
  for (const int64_t step : {0, 1}) {
    Save(SaveRequest(step), &saved[step]);
  }
  Capture(0);
  EXPECT_FALSE(host_.paused);
  Capture(1);
  EXPECT_TRUE(host_.paused);
  ASSERT_TRUE(disk_->RunOne());
  executor_->RunUntilIdle();
  EXPECT_FALSE(host_.paused);
  EXPECT_TRUE(saved[0]->ok());
  EXPECT_FALSE(saved[1].has_value());
  control_.reset();  // Before `saved`, which it answers.
}

TEST_F(LocalShardControlTest, EndIsAnnouncedOnce) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  v1::EndJobRequest request;
  request.set_job_id(example_.job_id);
  request.set_incarnation(kIncarnation);
  for (int i = 0; i < 2; ++i) {
    control_->EndJob(request, [](const auto& r) { EXPECT_TRUE(r.ok()); });
    executor_->RunUntilIdle();
  }
  EXPECT_EQ(ended_, 1);
}

TEST_F(LocalShardControlTest, ClosedOneAnswersAndRefuses) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> open;
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> late;
  Save(SaveRequest(7), &open);
  control_->Close();
  Save(SaveRequest(8), &late);
  EXPECT_EQ(open->status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(late->status().code(), absl::StatusCode::kUnavailable);
  Capture(0);
  RunAll();
}

TEST_F(LocalShardControlTest, OpenSavesEndWithTheServer) {
  ASSERT_TRUE(Assign(AssignRequest()).ok());
  std::optional<absl::StatusOr<v1::SaveShardsResponse>> saved;
  Save(SaveRequest(7), &saved);
  control_.reset();
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->status().code(), absl::StatusCode::kCancelled);
  host_.captures[0].done(std::vector<ShardSnapshot>());
}

}  // namespace
}  // namespace selari
