#include "kernels/peak_flops.h"

#include <cmath>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(PeakFlopsTest, EachLevelComputesSomethingFinite) {
  for (const IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    if (level > DetectIsaLevel()) {
      continue;
    }
    const PeakFlops peak = PeakFlopsFor(level);
    EXPECT_GT(peak.flops_per_round, 0);
    EXPECT_TRUE(std::isfinite(peak.run(1000)));
    EXPECT_NE(peak.run(1), peak.run(2));
  }
}

}  // namespace
}  // namespace selari
