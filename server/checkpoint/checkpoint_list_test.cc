#include "server/checkpoint/checkpoint_list.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "common/human.h"
#include "gtest/gtest.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/describe.h"

namespace selari {
namespace {

void FlipLastBit(FileEnv& env, const std::string& path) {
  std::string bytes = *ReadFile(env, path, 1 << 20);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  ASSERT_TRUE(WriteFileAtomically(env, path, bytes).ok());
}

TEST(CheckpointListTest, MissingFolderIsAnEmptyList) {
  FaultFileEnv env;
  EXPECT_TRUE(ListCheckpoints(env, "c")->empty());
  EXPECT_TRUE(absl::IsNotFound(FindLatestCheckpoint(env, "c").status()));
}

TEST(CheckpointListTest, VerifyTellsEveryDamagedFile) {
  FaultFileEnv env;
  const std::string dir = *WriteExample(env, "c", {});
  FlipLastBit(env, dir + "/shard-00000.safetensors");
  FlipLastBit(env, dir + "/shard-00002.safetensors");
  const VerifyReport report = VerifyCheckpoint(env, dir);
  EXPECT_TRUE(absl::IsDataLoss(report.status));
  ASSERT_EQ(report.problems.size(), 2u);
  EXPECT_TRUE(absl::StrContains(report.problems[1], "shard-00002"));
  EXPECT_TRUE(report.state_digest.empty());
  EXPECT_TRUE(absl::StrContains(DescribeVerification(dir, report),
                                report.problems[0] + "\n"));
}

TEST(CheckpointListTest, LatestPassesOverTheDamagedAndSaysSo) {
  FaultFileEnv env;
  for (int64_t step : {1, 2, 3}) {
    ASSERT_TRUE(WriteExample(env, "c", {.step = step}).ok());
  }
  EXPECT_EQ(FindLatestCheckpoint(env, "c")->step, 3);
  FlipLastBit(env, "c/step-000000003/shard-00001.safetensors");
  ASSERT_TRUE(env.RemoveFile("c/step-000000002/MANIFEST.textproto").ok());
  const auto latest = FindLatestCheckpoint(env, "c");
  ASSERT_TRUE(latest.ok()) << latest.status();
  EXPECT_EQ(latest->path, "c/step-000000001");
  ASSERT_EQ(latest->skipped.size(), 2u);
  EXPECT_TRUE(absl::StrContains(latest->skipped[0], "shard-00001"));
  EXPECT_TRUE(absl::StartsWith(latest->skipped[0],
                               "goes on from step 1, not from step 3, "))
      << latest->skipped[0];
  EXPECT_TRUE(absl::StrContains(latest->skipped[1], "not from step 2, "));
  FlipLastBit(env, "c/step-000000001/shard-00001.safetensors");
  EXPECT_TRUE(absl::IsDataLoss(FindLatestCheckpoint(env, "c").status()));
}

TEST(CheckpointListTest, NewestIsRefusedUnlessItIsWhole) {
  FaultFileEnv env;
  EXPECT_TRUE(absl::IsNotFound(FindNewestCheckpoint(env, "c").status()));
  for (int64_t step : {1, 2, 3}) {
    ASSERT_TRUE(WriteExample(env, "c", {.step = step}).ok());
  }
  EXPECT_EQ(*FindNewestCheckpoint(env, "c"), "c/step-000000003");
  FlipLastBit(env, "c/step-000000003/shard-00001.safetensors");
  const auto refusal = [&env] {
    const absl::Status status = FindNewestCheckpoint(env, "c").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    return std::string(status.message());
  };
  std::string message = refusal();
  EXPECT_TRUE(absl::StrContains(message, "step 3, ")) << message;
  EXPECT_TRUE(absl::StrContains(message, "shard-00001")) << message;
  EXPECT_TRUE(
      absl::EndsWith(message, "; to use that of step 2, name c/step-000000002"))
      << message;
  ASSERT_TRUE(env.RemoveFile("c/step-000000003/MANIFEST.textproto").ok());
  ASSERT_TRUE(env.RemoveFile("c/step-000000002/MANIFEST.textproto").ok());
  message = refusal();
  EXPECT_TRUE(absl::EndsWith(message, "name c/step-000000001")) << message;
  ASSERT_TRUE(RemoveTree(env, "c/step-000000001").ok());
  message = refusal();
  EXPECT_TRUE(absl::EndsWith(message, "; there is no older one")) << message;
}

TEST(CheckpointListTest, AFileInThePlaceOfACheckpointIsDamage) {
  FaultFileEnv env;
  ASSERT_TRUE(WriteExample(env, "c", {.step = 1}).ok());
  ASSERT_TRUE(WriteFileAtomically(env, "c/step-000000002", "x").ok());
  const absl::Status status = FindNewestCheckpoint(env, "c").status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "name c/step-000000001"));
}

TEST(CheckpointListTest, TableShowsWholeAndDamaged) {
  FaultFileEnv env;
  ASSERT_TRUE(WriteExample(env, "c", {.step = 1234567890123}).ok());
  ASSERT_TRUE(WriteExample(env, "c", {.step = 8}).ok());
  ASSERT_TRUE(env.RemoveFile("c/step-000000008/MANIFEST.textproto").ok());
  ASSERT_TRUE(WriteExample(env, "c", {.step = 9}).ok());
  const std::string file =
      JoinPath("c/step-000000009",
               (*ListCheckpoints(env, "c"))[1].manifest.shards(0).file_name());
  std::string bytes = *ReadFile(env, file, 1 << 20);
  bytes.resize(bytes.size() - 1);
  ASSERT_TRUE(WriteFileAtomically(env, file, bytes).ok());
  const std::string table = DescribeCheckpoints(*ListCheckpoints(env, "c"));
  EXPECT_TRUE(absl::StrContains(table, "2023-11-14 22:13:20")) << table;
  EXPECT_TRUE(absl::StrContains(table, "step-1234567890123\n")) << table;
  EXPECT_TRUE(absl::StrContains(table, "damaged, see below")) << table;
  EXPECT_TRUE(absl::StrContains(table, "\nstep 8: no complete checkpoint"))
      << table;
  EXPECT_TRUE(absl::StrContains(table, "\nstep 9: ")) << table;
  EXPECT_TRUE(absl::StrContains(table, file)) << table;
  // Which bytes stand in the files, a list does not look at.
  EXPECT_TRUE(absl::StrContains(table, "`selari checkpoint verify`")) << table;
}

TEST(CheckpointListTest, WholeCheckpointIsOneSentence) {
  FaultFileEnv env;
  const std::string dir = *WriteExample(env, "c", {});
  const VerifyReport report = VerifyCheckpoint(env, dir);
  EXPECT_EQ(DescribeVerification(dir, report),
            "\"c/step-000000007\" is whole: 3 files, " +
                HumanBytes(report.size_bytes) + ", digest " +
                report.state_digest + ".\n");
}

}  // namespace
}  // namespace selari
