#include "worker/model/thread_pool.h"

#include <atomic>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

class ThreadPoolTest : public ::testing::TestWithParam<int> {};

TEST_P(ThreadPoolTest, RunsEachPartOnce) {
  ThreadPool pool(GetParam());
  for (const int64_t parts : {0, 1, 2, 7, 100}) {
    std::vector<std::atomic<int>> runs(static_cast<std::size_t>(parts));
    pool.Run(parts, [&](int64_t part, int thread) {
      EXPECT_LT(thread, pool.thread_count());
      ++runs[static_cast<std::size_t>(part)];
    });
    for (const std::atomic<int>& count : runs) {
      EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST_P(ThreadPoolTest, RowRangesCoverEachRowOnce) {
  ThreadPool pool(GetParam());
  for (const int64_t rows : {0, 1, 3, 64}) {
    std::vector<int> runs(static_cast<std::size_t>(rows), 0);
    pool.RunRows(rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        ++runs[static_cast<std::size_t>(row)];
      }
    });
    EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(rows), 1));
  }
}

TEST_P(ThreadPoolTest, ResultsAreVisibleAfterEachOfManyRuns) {
  ThreadPool pool(GetParam());
  std::vector<int64_t> cells(16, 0);
  for (int64_t round = 0; round < 2000; ++round) {
    pool.Run(16, [&](int64_t part, int) {
      ++cells[static_cast<std::size_t>(part)];
    });
    for (const int64_t cell : cells) {
      ASSERT_EQ(cell, round + 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ThreadPoolTest, ::testing::Values(1, 2, 5));

}  // namespace
}  // namespace selari
