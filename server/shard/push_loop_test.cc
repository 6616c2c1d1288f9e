#include "server/shard/push_loop.h"

#include "gtest/gtest.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

v1::ResolvedJob OneShard() {
  v1::ResolvedJob job = MakeTestJob({{"w", 200000}, {"b", 7}});
  job.mutable_job()->mutable_cluster()->set_shard_count(1);
  return job;
}

void ExpectThreeSteps(const v1::ResolvedJob& job) {
  auto loop = PushLoop::Create(job, {{2, 0}, {2, 1}});
  ASSERT_TRUE(loop.ok()) << loop.status();
  EXPECT_EQ((*loop)->bytes_per_step(), 2 * 4 * 200007);
  for (int step = 0; step < 3; ++step) {
    const absl::Status status = (*loop)->Step();
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(PushLoopTest, EachStepIsApplied) { ExpectThreeSteps(OneShard()); }

TEST(PushLoopTest, SumsOverTheModelGoRound) {
  v1::ResolvedJob job = OneShard();
  job.mutable_job()->mutable_optimizer()->mutable_lamb();
  ExpectThreeSteps(job);
  job.mutable_job()->mutable_optimizer()->set_clip_global_norm(1);
  ExpectThreeSteps(job);
}

TEST(PushLoopTest, NodesThatCoverOnlyPartOfTheLeavesAreAnError) {
  auto loop = PushLoop::Create(OneShard(), {{2, 0}});
  ASSERT_TRUE(loop.ok()) << loop.status();
  EXPECT_EQ((*loop)->Step().code(), absl::StatusCode::kInternal);
}

TEST(PushLoopTest, SeveralShardsAreRefused) {
  v1::ResolvedJob job = OneShard();
  job.mutable_job()->mutable_cluster()->set_shard_count(2);
  EXPECT_EQ(PushLoop::Create(job, {{3, 0}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace selari
