#include "cli/chaos/ledger_page.h"

#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr LedgerPage kPage = {3, 4};

// After so many rounds of each worker.
std::vector<float> Kept(const std::vector<int64_t>& rounds) {
  std::vector<float> values(static_cast<size_t>(kPage.size()), 0.0f);
  for (int32_t worker = 0; worker < kPage.workers; ++worker) {
    for (int64_t r = 0; r < rounds[static_cast<size_t>(worker)]; ++r) {
      values[static_cast<size_t>(kPage.CellOf(worker, r))] += 1;
    }
  }
  return values;
}

TEST(LedgerPageTest, FindsNothingWhereEachPushCountedOnce) {
  const std::vector<int64_t> rounds = {0, 5, 8};
  const std::vector<float> values = Kept(rounds);
  for (int32_t worker = 0; worker < 3; ++worker) {
    const int64_t own = rounds[static_cast<size_t>(worker)];
    EXPECT_EQ(RoundsIn(kPage, worker, values), own);
    EXPECT_TRUE(CompareRounds(kPage, worker, own, values).none());
  }
}

TEST(LedgerPageTest, FindsWhatWasLostAndWhatCountedTwice) {
  std::vector<float> values = Kept({0, 6, 6});
  values[static_cast<size_t>(kPage.CellOf(1, 1))] -= 1;
  values[static_cast<size_t>(kPage.CellOf(1, 3))] += 2;
  const LedgerDifference found = CompareRounds(kPage, 1, 6, values);
  EXPECT_EQ(found.lost, 1);
  EXPECT_EQ(found.doubled, 2);
  EXPECT_TRUE(CompareRounds(kPage, 2, 6, values).none());
  EXPECT_FALSE(CompareRounds(kPage, 0, 1, values).none());
}

TEST(LedgerPageTest, OnePushForAnotherIsSeenThoughTheSumIsRight) {
  std::vector<float> values = Kept({3, 0, 0});
  values[static_cast<size_t>(kPage.CellOf(0, 0))] += 1;
  values[static_cast<size_t>(kPage.CellOf(0, 1))] -= 1;
  EXPECT_EQ(RoundsIn(kPage, 0, values), 3);
  const LedgerDifference found = CompareRounds(kPage, 0, 3, values);
  EXPECT_EQ(found.lost, 1);
  EXPECT_EQ(found.doubled, 1);
}

}  // namespace
}  // namespace selari
