#include "cli/bench/run_workers.h"

#include <atomic>

#include "cli/bench/step_barrier.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(RunWorkersTest, AllRunAtTheSameTime) {
  StepBarrier meeting(3);
  std::atomic<int> sum{0};
  const auto seconds = RunWorkers(
      3,
      [&](int32_t worker) {
        sum += worker;
        return meeting.Arrive() ? absl::OkStatus() : absl::InternalError("");
      },
      nullptr);
  ASSERT_TRUE(seconds.ok()) << seconds.status();
  EXPECT_GE(*seconds, 0);
  EXPECT_EQ(sum, 3);
}

TEST(RunWorkersTest, FailureLetsTheOthersGo) {
  StepBarrier meeting(3);  // which the third never joins
  const auto seconds = RunWorkers(
      3,
      [&](int32_t worker) {
        if (worker == 2) {
          return absl::DataLossError("broken");
        }
        return meeting.Arrive() ? absl::OkStatus()
                                : absl::CancelledError("let go");
      },
      [&] { meeting.Break(); });
  EXPECT_EQ(seconds.status(), absl::DataLossError("broken"));
}

TEST(RunWorkersTest, OneWorkerNeedsNoThread) {
  EXPECT_TRUE(RunWorkers(
                  1, [](int32_t) { return absl::OkStatus(); }, nullptr)
                  .ok());
  EXPECT_EQ(RunWorkers(
                1, [](int32_t) { return absl::InternalError("no"); }, nullptr)
                .status(),
            absl::InternalError("no"));
}

TEST(StepBarrierTest, BrokenBarrierLetsEveryoneThroughAtOnce) {
  StepBarrier barrier(2);
  barrier.Break();
  EXPECT_FALSE(barrier.Arrive());
  EXPECT_FALSE(barrier.Arrive());
}

}  // namespace
}  // namespace selari
