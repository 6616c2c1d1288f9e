#include "server/shard/shard_job.h"

#include "common/error_reason.h"
#include "common/isa.h"
#include "gtest/gtest.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

TEST(ShardJob, TakesWhatItNeedsFromTheJob) {
  const v1::ResolvedJob resolved = MakeTestJob({{"w", 100}, {"b", 3}});
  const auto job = ShardJob::Create(resolved);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ((*job)->layout.shard_count(), 2);
  EXPECT_EQ((*job)->tree.leaf_count(), 8);
  EXPECT_TRUE((*job)->sync());
  EXPECT_EQ((*job)->tensor((*job)->layout.chunk(0)).name(), "w");
}

TEST(ShardJob, NamesTheFieldThatIsImpossible) {
  v1::ResolvedJob resolved = MakeTestJob({{"w", 100}});
  resolved.mutable_job()->mutable_training()->set_leaf_count(2000);
  EXPECT_EQ(ShardJob::Create(resolved).status().message(),
            "training.leaf_count is 2000, must be in [1, 1024]");
  resolved = MakeTestJob({{"w", 100}});
  resolved.mutable_job()->mutable_optimizer()->set_learning_rate(-1);
  EXPECT_EQ(ShardJob::Create(resolved).status().code(),
            absl::StatusCode::kInvalidArgument);
  resolved = MakeTestJob({});
  EXPECT_EQ(ShardJob::Create(resolved).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ShardJob, LambNeedsSync) {
  v1::ResolvedJob resolved = MakeTestJob({{"w", 100}});
  resolved.mutable_job()->mutable_optimizer()->mutable_lamb();
  EXPECT_TRUE(ShardJob::Create(resolved).ok());
  resolved.mutable_job()->mutable_consistency()->set_mode(
      v1::CONSISTENCY_ASYNC);
  EXPECT_EQ(ShardJob::Create(resolved).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ShardJob, NeedsTheInstructionSetOfTheJob) {
  if (DetectIsaLevel() == IsaLevel::kV4) {
    GTEST_SKIP() << "this processor has every level";
  }
  v1::ResolvedJob resolved = MakeTestJob({{"w", 100}});
  resolved.mutable_job()->mutable_cluster()->set_instruction_set(
      v1::INSTRUCTION_SET_LEVEL4);
  EXPECT_EQ(ReasonOf(ShardJob::Create(resolved).status()),
            ErrorReason::kInstructionSet);
}

}  // namespace
}  // namespace selari
