#include "server/checkpoint/checkpoint_path.h"

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(CheckpointPathTest, StrangeNamesAreNoCheckpoints) {
  for (const char* name :
       {"", "step-", "step-1", "step-00000000x", "step--00000001",
        "step-0000000123", "Step-000000123", ".tmp-step-000000123-a",
        "step-99999999999999999999", "step-000000123 ", "step-+00000123"}) {
    EXPECT_EQ(ParseCheckpointName(name), std::nullopt) << name;
  }
}

TEST(CheckpointPathTest, NamesGoBothWays) {
  EXPECT_EQ(CheckpointName(123), "step-000000123");
  for (int64_t step :
       {int64_t{0}, int64_t{999999999}, int64_t{1234567890123}, INT64_MAX}) {
    EXPECT_EQ(ParseCheckpointName(CheckpointName(step)), step);
  }
  EXPECT_EQ(StepOfPath("out/checkpoints/step-000000123"), 123);
  EXPECT_EQ(StepOfPath("step-000000123//"), 123);
  EXPECT_EQ(StepOfPath("step-000000123/model"), std::nullopt);
  EXPECT_EQ(CheckpointsDir("out"), "out/checkpoints");
  EXPECT_EQ(ShardFileName(3), "shard-00003.safetensors");
  EXPECT_EQ(AttemptName(7, "a1"), ".tmp-step-000000007-a1");
  EXPECT_TRUE(IsAttemptName(AttemptName(7, "a1")));
  EXPECT_FALSE(IsAttemptName("step-000000007"));
  EXPECT_EQ(ParseReplacedName(ReplacedName("step-000000007")),
            "step-000000007");
  EXPECT_EQ(ParseReplacedName(".old-something"), std::nullopt);
}

TEST(CheckpointPathDeathTest, AttemptMustNotLeaveTheFolder) {
  EXPECT_DEATH(AttemptName(1, "../x"), "broken invariant");
  EXPECT_DEATH(AttemptName(1, ""), "broken invariant");
}

}  // namespace
}  // namespace selari
