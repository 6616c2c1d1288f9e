#include "common/job_reduction.h"

#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(JobReductionTest, PlainOptimizersNeedNoRounds) {
  v1::Job job;
  job.mutable_optimizer()->mutable_adam();
  job.mutable_optimizer()->set_clip_value(1);
  EXPECT_TRUE(ReductionRoundsOfJob(job).empty());
}

TEST(JobReductionTest, ClippingAndLambEachNeedOne) {
  v1::Job job;
  job.mutable_optimizer()->mutable_lamb();
  job.mutable_optimizer()->set_clip_global_norm(1);
  const std::vector<ReductionRound> expected = {
      {ReductionScope::kGlobal, 1}, {ReductionScope::kPerTensor, 2}};
  EXPECT_EQ(ReductionRoundsOfJob(job), expected);
}

TEST(JobReductionTest, WorkersClipTheirOwnPushesOutsideSync) {
  v1::Job job;
  job.mutable_optimizer()->mutable_sgd();
  job.mutable_optimizer()->set_clip_global_norm(1);
  for (const v1::Consistency mode :
       {v1::CONSISTENCY_BOUNDED, v1::CONSISTENCY_ASYNC}) {
    job.mutable_consistency()->set_mode(mode);
    EXPECT_FALSE(IsSync(job));
    EXPECT_TRUE(ReductionRoundsOfJob(job).empty());
  }
}

}  // namespace
}  // namespace selari
