#include "server/coordinator/file_checkpoint_store.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/fake_clock.h"
#include "common/fault_file_env.h"
#include "gtest/gtest.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/shard_file.h"

namespace selari {
namespace {

class FileCheckpointStoreTest : public testing::Test {
 protected:
  std::unique_ptr<FileCheckpointStore> Open() {
    FileCheckpointStore::Options options;
    options.checkpoints_dir = "out/checkpoints";
    options.life = "00ff";
    options.program_version = "selari test";
    options.log = [this](absl::string_view line) { log_.emplace_back(line); };
    auto store = FileCheckpointStore::Open(env_, clock_, options);
    EXPECT_TRUE(store.ok()) << store.status();
    return *std::move(store);
  }

  // Writes the files of one attempt, as servers do.
  v1::CheckpointManifest Write(absl::string_view directory, int64_t step) {
    v1::CheckpointManifest manifest;
    *manifest.mutable_job() = ExampleJob({});
    manifest.mutable_job()->mutable_job()->mutable_checkpointing()->set_keep(2);
    manifest.set_step(step);
    for (const ShardSnapshot& snapshot : ExampleSnapshots({.step = step})) {
      auto file = WriteShardFile(env_, directory, manifest.job(), snapshot);
      EXPECT_TRUE(file.ok()) << file.status();
      *manifest.add_shards() = *file;
    }
    return manifest;
  }

  std::vector<int64_t> Steps() {
    std::vector<int64_t> steps;
    const auto list = ListCheckpoints(env_, "out/checkpoints");
    for (const CheckpointInfo& checkpoint : *list) {
      EXPECT_TRUE(checkpoint.status.ok()) << checkpoint.status;
      steps.push_back(checkpoint.step);
    }
    return steps;
  }

  FaultFileEnv env_;
  FakeClock clock_;
  std::vector<std::string> log_;
};

TEST_F(FileCheckpointStoreTest, FullDiskPublishesNothing) {
  const auto store = Open();
  const std::string directory = store->AttemptDirectory(7);
  const v1::CheckpointManifest manifest = Write(directory, 7);
  env_.SetCapacityBytes(0);
  EXPECT_TRUE(
      absl::IsResourceExhausted(store->Publish(directory, manifest).status()));
  env_.ClearFaults();
  EXPECT_TRUE(Steps().empty());
  store->Discard(directory);
  EXPECT_TRUE(env_.List("out/checkpoints")->empty());
}

TEST_F(FileCheckpointStoreTest, PublishesAndKeepsTheNewest) {
  const auto store = Open();
  for (int64_t step = 1; step <= 4; ++step) {
    const std::string directory = store->AttemptDirectory(step);
    const auto published = store->Publish(directory, Write(directory, step));
    ASSERT_TRUE(published.ok()) << published.status();
    EXPECT_EQ(published->step, step);
    EXPECT_EQ(published->path,
              "out/checkpoints/step-00000000" + std::to_string(step));
    EXPECT_EQ(VerifyCheckpoint(env_, published->path).state_digest,
              published->state_digest);
  }
  EXPECT_EQ(Steps(), (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(log_.empty());
}

TEST_F(FileCheckpointStoreTest, OpenRemovesWhatACrashLeft) {
  const std::string directory = Open()->AttemptDirectory(7);
  Write(directory, 7);
  EXPECT_EQ(env_.List("out/checkpoints")->size(), 1u);
  Open();
  EXPECT_TRUE(env_.List("out/checkpoints")->empty());
}

TEST_F(FileCheckpointStoreTest, AttemptsAtOneStepHaveTheirOwnFolders) {
  const auto store = Open();
  EXPECT_NE(store->AttemptDirectory(7), store->AttemptDirectory(7));
}

}  // namespace
}  // namespace selari
