// Clock: the time, passed in so that a test can set it (fake_clock.h).
//
// Thread safety: all methods from any thread.

#ifndef SELARI_COMMON_CLOCK_H_
#define SELARI_COMMON_CLOCK_H_

#include <cstdint>

namespace selari {

class Clock {
 public:
  virtual ~Clock() = default;
  // Milliseconds since some fixed moment; never goes back. For leases,
  // time-outs and durations.
  virtual int64_t NowMs() const = 0;
  // Milliseconds since 1970-01-01T00:00:00Z; may jump. For people only.
  virtual int64_t WallTimeMs() const = 0;
};

// The machine's clocks.
class SystemClock : public Clock {
 public:
  int64_t NowMs() const override;
  int64_t WallTimeMs() const override;
};

}  // namespace selari

#endif  // SELARI_COMMON_CLOCK_H_
