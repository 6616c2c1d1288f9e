#include "server/coordinator/checkpoint_cut.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

v1::ResolvedJob BoundedJob(int32_t workers) {
  v1::ResolvedJob job;
  job.set_total_steps(99);
  job.mutable_job()->mutable_cluster()->set_workers(workers);
  job.mutable_job()->mutable_cluster()->set_shard_count(2);
  job.mutable_job()->mutable_consistency()->set_mode(v1::CONSISTENCY_BOUNDED);
  return job;
}

v1::SaveShardsResponse Wrote(int32_t shard, int32_t worker, int64_t clock) {
  v1::SaveShardsResponse response;
  response.add_files()->set_shard(shard);
  response.add_worker_clocks()->set_worker_id(worker);
  response.mutable_worker_clocks(0)->set_clock(clock);
  return response;
}

TEST(CheckpointCutTest, ShardWrittenTwiceIsRefused) {
  CheckpointCut cut;
  ASSERT_TRUE(cut.Add(Wrote(1, 0, 5)).ok());
  const absl::Status status = cut.Add(Wrote(1, 0, 5));
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("shard 1 was written twice"));
}

TEST(CheckpointCutTest, MissingShardIsRefused) {
  CheckpointCut cut;
  ASSERT_TRUE(cut.Add(Wrote(1, 0, 5)).ok());
  EXPECT_THAT(cut.CheckComplete(BoundedJob(2)).message(),
              HasSubstr("servers wrote 1 of 2 shards"));
}

TEST(CheckpointCutTest, SlowestClockDecidesTheStep) {
  CheckpointCut cut;
  ASSERT_TRUE(cut.Add(Wrote(0, 0, 7)).ok());
  ASSERT_TRUE(cut.Add(Wrote(1, 0, 5)).ok());
  EXPECT_EQ(cut.StepByClocks(BoundedJob(1), {0, 7}), 5);
  // The other worker has no clock yet: what it reported counts.
  EXPECT_EQ(cut.StepByClocks(BoundedJob(2), {4, 4}), 4);
  // All have reported the last step, which is no multiple of the workers.
  EXPECT_EQ(cut.StepByClocks(BoundedJob(2), {0, 99}), 99);
}

TEST(CheckpointCutTest, ManifestHasShardsInOrderAndTheLeastClocks) {
  CheckpointCut cut;
  ASSERT_TRUE(cut.Add(Wrote(1, 0, 7)).ok());
  ASSERT_TRUE(cut.Add(Wrote(0, 0, 5)).ok());
  const v1::CheckpointManifest manifest = cut.MakeManifest(BoundedJob(1), 5);
  EXPECT_EQ(manifest.step(), 5);
  EXPECT_EQ(manifest.shards(0).shard(), 0);
  ASSERT_EQ(manifest.worker_clocks_size(), 1);
  EXPECT_EQ(manifest.worker_clocks(0).clock(), 5);
}

}  // namespace
}  // namespace selari
