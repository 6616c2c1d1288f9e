#include "kernels/kernels.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(KernelsTest, EachLevelOfThisProcessorHasItsTable) {
  for (int level = 2; level <= static_cast<int>(DetectIsaLevel()); ++level) {
    const IsaLevel isa = static_cast<IsaLevel>(level);
    EXPECT_EQ(KernelsFor(isa).level, isa);
    EXPECT_EQ(&KernelsFor(isa), &KernelsFor(isa));
  }
  EXPECT_NE(KernelsFor(IsaLevel::kV2).gemm.ab,
            KernelsFor(DetectIsaLevel()).gemm.ab);
}

TEST(KernelsDeathTest, LevelThatTheProcessorLacksIsRefused) {
  const IsaLevel beyond =
      static_cast<IsaLevel>(static_cast<int>(DetectIsaLevel()) + 1);
  EXPECT_DEATH(KernelsFor(beyond), "broken invariant");
}

}  // namespace
}  // namespace selari
