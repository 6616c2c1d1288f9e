#include "common/executor.h"

#include <vector>

#include "common/manual_executor.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(ThreadExecutorTest, RunsInOrderAndFinishesBeforeItEnds) {
  std::vector<int> order;
  {
    ThreadExecutor executor;
    for (int i = 0; i < 100; ++i) {
      executor.Post([i, &order] { order.push_back(i); });
    }
  }
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[i], i);
  }
}

TEST(ThreadExecutorTest, RunsWhatAClosurePostsWhileEnding) {
  bool ran = false;
  {
    ThreadExecutor executor;
    executor.Post([&] { executor.Post([&] { ran = true; }); });
  }
  EXPECT_TRUE(ran);
}

TEST(ManualExecutorTest, RunsOnlyWhenTold) {
  ManualExecutor executor;
  int runs = 0;
  executor.Post([&] {
    ++runs;
    executor.Post([&] { ++runs; });
  });
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(executor.RunUntilIdle(), 2);
  EXPECT_EQ(runs, 2);
}

}  // namespace
}  // namespace selari
