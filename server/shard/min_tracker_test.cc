#include "server/shard/min_tracker.h"

#include <algorithm>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(MinTracker, FollowsRandomRises) {
  const RandomKey key = MakeRandomKey(1, RandomStream::kTest);
  std::vector<int64_t> values(7, 3);
  MinTracker tracker(values);
  for (uint64_t i = 0; i < 500; ++i) {
    const size_t index = RandomWord(key, 2 * i) % values.size();
    const int64_t value = values[index] + RandomWord(key, 2 * i + 1) % 3;
    values[index] = value;
    tracker.RaiseTo(index, value);
    ASSERT_EQ(tracker.min(), *std::min_element(values.begin(), values.end()));
    ASSERT_EQ(tracker.max(), *std::max_element(values.begin(), values.end()));
  }
  EXPECT_EQ(tracker.values(), values);
}

TEST(MinTracker, NeverFalls) {
  MinTracker tracker({5});
  tracker.RaiseTo(0, 4);
  EXPECT_EQ(tracker.value(0), 5);
}

TEST(MinTracker, OfNothingIsZero) {
  const MinTracker tracker({});
  EXPECT_EQ(tracker.min(), 0);
  EXPECT_EQ(tracker.max(), 0);
}

}  // namespace
}  // namespace selari
