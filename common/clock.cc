#include "common/clock.h"

#include <chrono>

namespace selari {
namespace {

template <class Duration>
int64_t Milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration)
      .count();
}

}  // namespace

int64_t SystemClock::NowMs() const {
  return Milliseconds(std::chrono::steady_clock::now().time_since_epoch());
}

int64_t SystemClock::WallTimeMs() const {
  return Milliseconds(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace selari
