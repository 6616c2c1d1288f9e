#include "cli/bench/bench_stats.h"

#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(BenchStatsTest, MedianOfAnOddNumberIsTheMiddleOne) {
  const Spread spread = SpreadOf({5, 1, 3});
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.min, 1);
  EXPECT_EQ(spread.max, 5);
}

TEST(BenchStatsTest, MedianOfAnEvenNumberIsBetweenTheTwo) {
  EXPECT_EQ(SpreadOf({4, 1, 2, 8}).median, 3);
}

TEST(BenchStatsTest, OneSampleIsEverything) {
  const Spread spread = SpreadOf({7});
  EXPECT_EQ(spread.median, 7);
  EXPECT_EQ(spread.min, 7);
  EXPECT_EQ(spread.max, 7);
  EXPECT_EQ(PercentileOf({7}, 50), 7);
}

TEST(BenchStatsTest, PercentileIsTheNearestRank) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) {
    samples.push_back(i);
  }
  EXPECT_EQ(PercentileOf(samples, 50), 50);
  EXPECT_EQ(PercentileOf(samples, 99), 99);
  EXPECT_EQ(PercentileOf(samples, 99.5), 100);
  EXPECT_EQ(PercentileOf(samples, 100), 100);
  EXPECT_EQ(PercentileOf(samples, 0.001), 1);
}

}  // namespace
}  // namespace selari
