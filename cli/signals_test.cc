#include "cli/signals.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

// Each reading of it is the next one of `times_ms`, which must suffice.
class ScriptedClock : public Clock {
 public:
  explicit ScriptedClock(std::vector<int64_t> times_ms)
      : times_ms_(std::move(times_ms)) {}
  int64_t NowMs() const override { return times_ms_.at(read_++); }
  int64_t WallTimeMs() const override { return 0; }
  void WaitUntilRead(size_t times) const {
    while (read_ < times) {
      std::this_thread::yield();
    }
  }

 private:
  const std::vector<int64_t> times_ms_;
  mutable std::atomic<size_t> read_{0};
};

TEST(SignalsTest, TheFirstSignalAsksForAnOrderlyEnd) {
  std::atomic<int> told{0};
  const ScriptedClock clock({5});
  Signals signals([&told](int number) { told.store(number); }, &clock);
  EXPECT_EQ(signals.received(), 0);
  EXPECT_FALSE(signals.stop()->stop_requested());
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(signals.stop()->WaitForMs(10000));
  EXPECT_EQ(signals.received(), SIGTERM);
  EXPECT_EQ(told.load(), SIGTERM);
}

TEST(SignalsTest, AClosedTerminalAsksForAnOrderlyEndHoweverOftenItSaysSo) {
  const ScriptedClock clock({5, 5 + 2 * Signals::kSameWishMs});
  Signals signals(nullptr, &clock);
  kill(getpid(), SIGHUP);
  EXPECT_TRUE(signals.stop()->WaitForMs(10000));
  EXPECT_EQ(signals.received(), SIGHUP);
  kill(getpid(), SIGHUP);
  clock.WaitUntilRead(2);
}

TEST(SignalsTest, EndsWithoutASignal) {
  const ScriptedClock clock({});
  Signals signals(nullptr, &clock);
}

TEST(SignalsDeathTest, ASecondSignalEndsAtOnceAndSaysSo) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const ScriptedClock clock({5, 5 + Signals::kSameWishMs});
        Signals signals(nullptr, &clock);
        kill(getpid(), SIGINT);
        clock.WaitUntilRead(1);
        kill(getpid(), SIGINT);
        pause();
      },
      testing::ExitedWithCode(128 + SIGINT),
      "ended at once by a second signal, without a checkpoint");
}

TEST(SignalsDeathTest, TwoSignalsWithinAMomentAreOneWish) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const int64_t same = 5 + Signals::kSameWishMs - 1;
        const ScriptedClock clock({5, same, same + 1});
        Signals signals(nullptr, &clock);
        kill(getpid(), SIGINT);
        clock.WaitUntilRead(1);
        kill(getpid(), SIGTERM);  // Would be told by its number.
        clock.WaitUntilRead(2);
        kill(getpid(), SIGINT);
        pause();
      },
      testing::ExitedWithCode(128 + SIGINT), "ended at once");
}

}  // namespace
}  // namespace selari
