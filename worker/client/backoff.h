// Backoff: how long to wait before the next attempt. Doubles up to a limit,
// with random jitter so that many workers do not come back in one burst.
//
// Not thread-safe.

#ifndef SELARI_WORKER_CLIENT_BACKOFF_H_
#define SELARI_WORKER_CLIENT_BACKOFF_H_

#include <algorithm>
#include <cstdint>
#include <random>

namespace selari {

class Backoff {
 public:
  // REQUIRES: 0 < first_ms <= max_ms. `seed` differs between workers.
  Backoff(int64_t first_ms, int64_t max_ms, uint64_t seed)
      : first_ms_(first_ms),
        max_ms_(max_ms),
        random_(static_cast<std::minstd_rand::result_type>(seed)),
        next_ms_(first_ms) {}

  // In [d/2, d] for d = first, 2 * first, 4 * first, ... up to max.
  int64_t NextMs() {
    const int64_t delay = next_ms_;
    next_ms_ = std::min(next_ms_ * 2, max_ms_);
    return delay - static_cast<int64_t>(random_() % (delay / 2 + 1));
  }

  void Reset() { next_ms_ = first_ms_; }

 private:
  const int64_t first_ms_;
  const int64_t max_ms_;
  std::minstd_rand random_;
  int64_t next_ms_;
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_BACKOFF_H_
