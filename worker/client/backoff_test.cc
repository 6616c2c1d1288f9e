#include "worker/client/backoff.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(BackoffTest, DoublesUpToTheLimit) {
  Backoff backoff(50, 1000, /*seed=*/3);
  int64_t high = 50;
  for (int i = 0; i < 20; ++i) {
    const int64_t delay = backoff.NextMs();
    EXPECT_GE(delay, high / 2);
    EXPECT_LE(delay, high);
    high = high * 2 > 1000 ? 1000 : high * 2;
  }
}

TEST(BackoffTest, StartsOverAfterReset) {
  Backoff backoff(50, 1000, /*seed=*/3);
  for (int i = 0; i < 10; ++i) {
    backoff.NextMs();
  }
  backoff.Reset();
  EXPECT_LE(backoff.NextMs(), 50);
}

}  // namespace
}  // namespace selari
