// A checkpoint that version 1 of the format wrote, kept in the repository: what
// users have on their disks must load for ever. docs/FORMAT.md explains the
// files; write_examples of //tests/formats made them. Never regenerate them:
// a new format version gets a folder of its own.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/chunk_layout.h"
#include "common/file_env.h"
#include "common/job_layout.h"
#include "common/posix_file_env.h"
#include "common/shard_snapshot.h"
#include "gtest/gtest.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/restore.h"

namespace selari {
namespace {

constexpr char kDir[] = "tests/golden/checkpoint_v1/step-000000007";

TEST(CheckpointGoldenTest, Version1IsWholeAndHasItsDigest) {
  PosixFileEnv env;
  const VerifyReport report = VerifyCheckpoint(env, kDir);
  ASSERT_TRUE(report.status.ok()) << report.status;
  EXPECT_EQ(report.state_digest,
            "81659d08bfc824bca5c25e7905907b2ef14680ab5e09ae82b161c6f73dbcbe40");
}

TEST(CheckpointGoldenTest, Version1HoldsTheState) {
  PosixFileEnv env;
  const auto reader = CheckpointReader::Open(env, kDir);
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto layout = MakeChunkLayout(ExampleJob({}));
  for (int32_t shard = 0; shard < 3; ++shard) {
    const auto snapshot = ReadShardSnapshot(**reader, *layout, shard);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(snapshot->version, 7);
    EXPECT_EQ(snapshot->workers.at(1).incarnation, 0xfedcba9876543210u);
    for (const ChunkState& chunk : snapshot->chunks) {
      const int64_t count = chunk.weights->size();
      for (int64_t i = 0; i < count; ++i) {
        const int64_t element = chunk.offset + i;
        ASSERT_EQ(chunk.weights->data()[i],
                  ExampleValue(chunk.tensor, 0, element));
        ASSERT_EQ(chunk.slots->data()[i],
                  ExampleValue(chunk.tensor, 1, element));
        ASSERT_EQ(chunk.slots->data()[count + i],
                  ExampleValue(chunk.tensor, 2, element));
      }
    }
  }
}

}  // namespace
}  // namespace selari
