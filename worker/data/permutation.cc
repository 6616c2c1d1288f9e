#include "worker/data/permutation.h"

#include "common/check.h"
#include "common/random.h"

namespace selari {
namespace {

constexpr int64_t kSizeMax = int64_t{1} << 48;

// Two multiply-and-shift steps as in MurmurHash3's finaliser: every bit of
// the result depends on every bit of the value and the key.
uint64_t Mix(uint64_t value, uint64_t key) {
  uint64_t x = value ^ key;
  x ^= x >> 33;
  x *= 0xFF51AFD7ED558CCDull;
  x ^= x >> 33;
  x *= 0xC4CEB9FE1A85EC53ull;
  x ^= x >> 33;
  return x;
}

}  // namespace

Permutation::Permutation(uint64_t seed, uint64_t epoch, int64_t n)
    : n_(static_cast<uint64_t>(n)), half_bits_(1) {
  SELARI_CHECK(n >= 1 && n <= kSizeMax);
  while ((uint64_t{1} << (2 * half_bits_)) < n_) {
    ++half_bits_;
  }
  const RandomKey key = MakeRandomKey(seed, RandomStream::kShuffle, epoch);
  for (int round = 0; round < kRounds; ++round) {
    round_keys_[static_cast<std::size_t>(round)] =
        RandomWord64(key, static_cast<uint64_t>(round));
  }
}

int64_t Permutation::At(int64_t position) const {
  SELARI_CHECK(position >= 0 && static_cast<uint64_t>(position) < n_);
  uint64_t value = static_cast<uint64_t>(position);
  do {
    value = Encrypt(value);
  } while (value >= n_);
  return static_cast<int64_t>(value);
}

uint64_t Permutation::Encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (const uint64_t key : round_keys_) {
    const uint64_t next = left ^ (Mix(right, key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

}  // namespace selari
