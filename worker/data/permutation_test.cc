#include "worker/data/permutation.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> All(const Permutation& permutation, int64_t n) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(permutation.At(i));
  }
  return values;
}

TEST(PermutationTest, VisitsEachElementOnce) {
  for (const int64_t n : {1, 2, 3, 4, 5, 16, 17, 1000, 4097}) {
    std::vector<bool> seen(static_cast<std::size_t>(n), false);
    for (const int64_t value : All(Permutation(1, 2, n), n)) {
      ASSERT_GE(value, 0);
      ASSERT_LT(value, n);
      ASSERT_FALSE(seen[static_cast<std::size_t>(value)]) << n;
      seen[static_cast<std::size_t>(value)] = true;
    }
  }
}

TEST(PermutationTest, DependsOnSeedAndEpochOnly) {
  const std::vector<int64_t> order = All(Permutation(1, 2, 100), 100);
  EXPECT_EQ(order, All(Permutation(1, 2, 100), 100));
  EXPECT_NE(order, All(Permutation(1, 3, 100), 100));
  EXPECT_NE(order, All(Permutation(2, 2, 100), 100));
}

// Every trained model depends on these: a change here is a change of format.
TEST(PermutationTest, NeverChanges) {
  EXPECT_THAT(All(Permutation(42, 0, 8), 8),
              ElementsAre(7, 0, 6, 2, 4, 5, 3, 1));
}

// Over many epochs, each element comes first about equally often: 1,000
// expected, a standard deviation of 32; a deviation of 6 means a bias.
TEST(PermutationTest, FirstPositionIsUniform) {
  constexpr int64_t kSize = 10;
  std::vector<int> count(kSize, 0);
  for (uint64_t epoch = 0; epoch < 10000; ++epoch) {
    ++count[static_cast<std::size_t>(Permutation(7, epoch, kSize).At(0))];
  }
  for (const int c : count) {
    EXPECT_LT(std::abs(c - 1000), 180);
  }
}

}  // namespace
}  // namespace selari
