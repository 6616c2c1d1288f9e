#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(SignalsTest, TheFirstSignalAsksForAnOrderlyEnd) {
  std::atomic<int> told{0};
  Signals signals([&told](int number) { told.store(number); });
  EXPECT_EQ(signals.received(), 0);
  EXPECT_FALSE(signals.stop()->stop_requested());
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(signals.stop()->WaitForMs(10000));
  EXPECT_EQ(signals.received(), SIGTERM);
  EXPECT_EQ(told.load(), SIGTERM);
}

TEST(SignalsTest, EndsWithoutASignal) { Signals signals(nullptr); }

TEST(SignalsDeathTest, TheSecondSignalEndsAtOnce) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        Signals signals(nullptr);
        kill(getpid(), SIGINT);
        signals.stop()->WaitForMs(10000);
        kill(getpid(), SIGINT);
        pause();
      },
      testing::ExitedWithCode(128 + SIGINT), "");
}

}  // namespace
}  // namespace selari
