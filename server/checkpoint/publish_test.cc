#include "server/checkpoint/publish.h"

#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "gtest/gtest.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/shard_file.h"

namespace selari {
namespace {

std::vector<int64_t> WholeSteps(FileEnv& env) {
  std::vector<int64_t> steps;
  const auto checkpoints = ListCheckpoints(env, "c");
  EXPECT_TRUE(checkpoints.ok()) << checkpoints.status();
  for (const CheckpointInfo& checkpoint : *checkpoints) {
    // Whatever has a checkpoint's name is whole, byte for byte.
    const VerifyReport report = VerifyCheckpoint(env, checkpoint.path);
    EXPECT_TRUE(report.status.ok()) << report.status;
    steps.push_back(checkpoint.step);
  }
  return steps;
}

// The promise of the whole format: fail any call, with or without a crash
// after it, and there is the old checkpoint, the new one or both, never half.
TEST(PublishTest, NothingHalfIsEverLoadable) {
  for (const bool replace : {false, true}) {
    bool hit = true;
    for (int64_t call = 0; hit; ++call) {
      for (const uint64_t seed :
           {uint64_t{0}, static_cast<uint64_t>(call + 1)}) {
        FaultFileEnv env;
        ASSERT_TRUE(WriteExample(env, "c", {.step = 7}).ok());
        env.FailCall({.call = call, .error = ENOSPC, .permanent = true});
        const absl::Status status =
            WriteExample(env, "c", {.step = replace ? 7 : 8}).status();
        hit = env.fault_hit();
        EXPECT_TRUE(hit || status.ok()) << status;
        EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
        env.Crash({.seed = seed});
        ASSERT_TRUE(CleanUpCheckpoints(env, "c").ok());
        const std::vector<int64_t> steps = WholeSteps(env);
        ASSERT_FALSE(steps.empty()) << "call " << call << " seed " << seed;
        EXPECT_EQ(steps[0], 7);
        if (status.ok()) {
          EXPECT_EQ(steps.back(), replace ? 7 : 8);
        }
      }
    }
  }
}

TEST(PublishTest, OneFailedCallLeavesTheOldCheckpointAtOnce) {
  bool hit = true;
  for (int64_t call = 0; hit; ++call) {
    FaultFileEnv env;
    ASSERT_TRUE(WriteExample(env, "c", {.step = 7}).ok());
    env.FailCall({.call = call, .error = EIO});
    const absl::Status status = WriteExample(env, "c", {.step = 7}).status();
    hit = env.fault_hit();
    env.ClearFaults();
    // No crash, no clean-up: the process goes on.
    EXPECT_EQ(WholeSteps(env), std::vector<int64_t>{7})
        << "call " << call << ": " << status;
    EXPECT_TRUE(WriteExample(env, "c", {.step = 7}).ok()) << call;
  }
}

TEST(PublishTest, EveryBytesWorthOfDiskIsTooLittle) {
  FaultFileEnv whole;
  ASSERT_TRUE(WriteExample(whole, "c", {}).ok());
  const VerifyReport report = VerifyCheckpoint(whole, "c/step-000000007");
  ASSERT_TRUE(report.status.ok());
  for (int64_t capacity = 0; capacity < report.size_bytes; capacity += 501) {
    FaultFileEnv env;
    env.SetCapacityBytes(capacity);
    const absl::Status status = WriteExample(env, "c", {}).status();
    EXPECT_TRUE(absl::IsResourceExhausted(status));
    EXPECT_TRUE(absl::StrContains(status.message(), "No space left")) << status;
    env.ClearFaults();
    EXPECT_TRUE(WholeSteps(env).empty());
  }
}

TEST(PublishTest, FolderWithoutPermissionIsNamed) {
  FaultFileEnv env;
  env.DenyWrites("c");
  const absl::Status status = WriteExample(env, "c", {}).status();
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "c/.tmp-step-000000007-a"))
      << status;
}

TEST(PublishTest, FilesThatAreNotAsTheServersSaidAreNotPublished) {
  FaultFileEnv env;
  v1::CheckpointManifest manifest;
  *manifest.mutable_job() = ExampleJob({});
  manifest.set_step(7);
  const std::string dir = *BeginCheckpoint(env, "c", 7, "a");
  EXPECT_TRUE(absl::IsInvalidArgument(
      PublishCheckpoint(env, "c", dir, manifest).status()));
  for (const ShardSnapshot& snapshot : ExampleSnapshots({})) {
    *manifest.add_shards() =
        *WriteShardFile(env, dir, manifest.job(), snapshot);
  }
  std::string bytes = *ReadFile(env, dir + "/shard-00001.safetensors", 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  ASSERT_TRUE(
      WriteFileAtomically(env, dir + "/shard-00001.safetensors", bytes).ok());
  EXPECT_TRUE(
      absl::IsDataLoss(PublishCheckpoint(env, "c", dir, manifest).status()));
  EXPECT_TRUE(WholeSteps(env).empty());
  EXPECT_TRUE(AbandonCheckpoint(env, dir).ok());
  EXPECT_TRUE(env.List("c")->empty());
}

TEST(PublishTest, CleanUpRemovesAttemptsAndBringsBackTheReplaced) {
  FaultFileEnv env;
  EXPECT_TRUE(CleanUpCheckpoints(env, "c").ok());
  ASSERT_TRUE(WriteExample(env, "c", {.step = 7}).ok());
  ASSERT_TRUE(WriteExample(env, "c", {.step = 8}).ok());
  ASSERT_TRUE(BeginCheckpoint(env, "c", 9, "x").ok());
  ASSERT_TRUE(env.Rename("c/step-000000007", "c/.old-step-000000007").ok());
  ASSERT_TRUE(env.CreateDirs("c/.old-step-000000008").ok());
  ASSERT_TRUE(env.CreateDirs("c/a folder of the user").ok());
  ASSERT_TRUE(CleanUpCheckpoints(env, "c").ok());
  EXPECT_EQ(WholeSteps(env), (std::vector<int64_t>{7, 8}));
  EXPECT_EQ(env.List("c")->size(), 3u);
}

TEST(PublishTest, RetentionKeepsTheNewestAndTheDamaged) {
  FaultFileEnv env;
  for (int64_t step = 1; step <= 5; ++step) {
    ASSERT_TRUE(WriteExample(env, "c", {.step = step}).ok());
  }
  ASSERT_TRUE(env.RemoveFile("c/step-000000002/MANIFEST.textproto").ok());
  ASSERT_TRUE(env.RemoveFile("c/step-000000004/MANIFEST.textproto").ok());
  ASSERT_TRUE(RemoveOldCheckpoints(env, "c", 2).ok());
  std::vector<int64_t> steps;
  const std::vector<CheckpointInfo> checkpoints = *ListCheckpoints(env, "c");
  for (const CheckpointInfo& checkpoint : checkpoints) {
    steps.push_back(checkpoint.step);
  }
  EXPECT_EQ(steps, (std::vector<int64_t>{2, 3, 4, 5}));
}

TEST(PublishTest, RetentionThatFailsAnywhereLeavesNothingHalf) {
  bool hit = true;
  for (int64_t call = 0; hit; ++call) {
    FaultFileEnv env;
    ASSERT_TRUE(WriteExample(env, "c", {.step = 1}).ok());
    ASSERT_TRUE(WriteExample(env, "c", {.step = 2}).ok());
    env.FailCall({.call = call, .error = EIO, .permanent = true});
    (void)RemoveOldCheckpoints(env, "c", 1);
    hit = env.fault_hit();
    env.Crash({.seed = 1 + static_cast<uint64_t>(call)});
    EXPECT_EQ(WholeSteps(env).back(), 2);
  }
}

}  // namespace
}  // namespace selari
