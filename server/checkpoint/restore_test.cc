#include "server/checkpoint/restore.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/chunk_layout.h"
#include "common/fault_file_env.h"
#include "common/job_layout.h"
#include "common/shard_snapshot.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/checkpoint/checkpoint_reader.h"

namespace selari {
namespace {

void ExpectExampleValues(const ChunkState& chunk, int64_t slot_count) {
  const int64_t count = chunk.weights->size();
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(chunk.weights->data()[i],
              ExampleValue(chunk.tensor, 0, chunk.offset + i));
  }
  ASSERT_EQ(chunk.slots == nullptr, slot_count == 0);
  for (int64_t i = 0; slot_count > 0 && i < chunk.slots->size(); ++i) {
    ASSERT_EQ(chunk.slots->data()[i],
              ExampleValue(chunk.tensor, static_cast<int32_t>(1 + i / count),
                           chunk.offset + i % count));
  }
}

TEST(RestoreTest, SameLayoutGivesBackWhatWasWritten) {
  FaultFileEnv env;
  const auto reader = CheckpointReader::Open(env, *WriteExample(env, "c", {}));
  ASSERT_TRUE(reader.ok()) << reader.status();
  const auto layout = MakeChunkLayout(ExampleJob({}));
  for (const ShardSnapshot& expected : ExampleSnapshots({})) {
    const auto snapshot = ReadShardSnapshot(**reader, *layout, expected.shard);
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(snapshot->version, 7);
    ASSERT_EQ(snapshot->chunks.size(), expected.chunks.size());
    ASSERT_EQ(snapshot->workers.size(), 2u);
    EXPECT_EQ(snapshot->workers[1].incarnation, 0xfedcba9876543210u);
    EXPECT_EQ(snapshot->workers[1].sequence, 200 + expected.shard);
  }
}

TEST(RestoreTest, AnyShardCountHoldsEveryElementOnce) {
  for (int32_t slot_count : {0, 2}) {
    FaultFileEnv env;
    const auto reader = CheckpointReader::Open(
        env, *WriteExample(env, "c", {.slot_count = slot_count}));
    ASSERT_TRUE(reader.ok()) << reader.status();
    for (int32_t shard_count : {1, 2, 5, 7, 100}) {
      const auto layout =
          MakeChunkLayout(ExampleJob({.shard_count = shard_count}));
      int64_t elements = 0;
      for (int32_t shard = 0; shard < shard_count; ++shard) {
        const auto snapshot = ReadShardSnapshot(**reader, *layout, shard);
        ASSERT_TRUE(snapshot.ok()) << snapshot.status();
        // The workers' sequences counted pushes to other shards.
        ASSERT_EQ(snapshot->workers.size(), 2u);
        EXPECT_EQ(snapshot->workers[0].clock, 7);
        EXPECT_EQ(snapshot->workers[0].sequence, 0);
        for (const ChunkState& chunk : snapshot->chunks) {
          EXPECT_EQ(chunk.version, 7);
          elements += chunk.weights->size();
          ExpectExampleValues(chunk, slot_count);
        }
      }
      EXPECT_EQ(elements, 1231);
    }
  }
}

TEST(RestoreTest, OtherModelIsRefusedByName) {
  const v1::ResolvedJob saved = ExampleJob({});
  EXPECT_TRUE(CheckSameModel(saved, ExampleJob({.shard_count = 5})).ok());
  v1::ResolvedJob job = saved;
  job.mutable_tensors(1)->set_shape(0, 31);
  absl::Status status = CheckSameModel(saved, job);
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_EQ(status.message(),
            "the checkpoint is of another model: its tensor 1 is \"dense1/b\" "
            "of shape [30], the job's is \"dense1/b\" of shape [31]");
  job = saved;
  job.mutable_tensors()->RemoveLast();
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckSameModel(saved, job)));
  job = saved;
  job.mutable_job()->mutable_optimizer()->mutable_adagrad();
  EXPECT_EQ(CheckSameModel(saved, job).message(),
            "the checkpoint holds the state of optimizer adam, the job uses "
            "adagrad");
}

}  // namespace
}  // namespace selari
