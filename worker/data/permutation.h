// Permutation: a random order of [0, n), a pure function of (seed, epoch),
// that can be asked for any position without making the others. So a worker
// may start anywhere, and no epoch costs memory or a pause.
//
// A balanced Feistel network over the smallest even number of bits that holds
// n, walked until the value falls inside [0, n) (Black and Rogaway, "Ciphers
// with arbitrary finite domains", 2002); fewer than 4 walks on average.
//
// Immutable; At may be called from any thread.

#ifndef SELARI_WORKER_DATA_PERMUTATION_H_
#define SELARI_WORKER_DATA_PERMUTATION_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace selari {

class Permutation {
 public:
  // REQUIRES: 1 <= n <= 2^48.
  Permutation(uint64_t seed, uint64_t epoch, int64_t n);

  // The element at `position`, 0 <= position < n.
  int64_t At(int64_t position) const;

 private:
  // Luby and Rackoff: 4 suffice for a random-looking permutation when the
  // round function is random; ours is a cheap mixer, so twice as many.
  static constexpr int kRounds = 8;

  uint64_t Encrypt(uint64_t value) const;

  uint64_t n_;
  int half_bits_;
  std::array<uint64_t, kRounds> round_keys_;
};

}  // namespace selari

#endif  // SELARI_WORKER_DATA_PERMUTATION_H_
