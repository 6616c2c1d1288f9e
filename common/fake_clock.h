// FakeClock: a Clock that stands still until a test moves it.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_COMMON_FAKE_CLOCK_H_
#define SELARI_COMMON_FAKE_CLOCK_H_

#include <atomic>
#include <cstdint>

#include "common/clock.h"

namespace selari {

class FakeClock : public Clock {
 public:
  int64_t NowMs() const override { return now_ms_; }
  int64_t WallTimeMs() const override { return kWallTimeStartMs + now_ms_; }
  void AdvanceMs(int64_t ms) { now_ms_ += ms; }

 private:
  static constexpr int64_t kWallTimeStartMs = 1'700'000'000'000;
  std::atomic<int64_t> now_ms_{1'000'000};
};

}  // namespace selari

#endif  // SELARI_COMMON_FAKE_CLOCK_H_
