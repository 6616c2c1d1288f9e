#include "kernels/dropout.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/vec.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

constexpr int kLanes = 16;
constexpr int kWords = 4;
constexpr int64_t kGroup = kLanes * kWords;

struct HighLow {
  Words high;
  Words low;
};

// Halves of the products of each word with `factor`.
inline HighLow Multiply(Words x, uint32_t factor) {
  constexpr uint64_t kLow = 0xFFFFFFFF;
  const LongWords factors = LongWords{} + factor;
  const LongWords pairs = (LongWords)x;
  const LongWords even = MulEven(pairs, factors);
  const LongWords odd = MulEven(pairs >> 32, factors);
  return {(Words)((even >> 32) | (odd & ~kLow)),
          (Words)((even & kLow) | (odd << 32))};
}

// Philox4x32-10 (common/random.h) for 16 neighbouring counters, a vector of
// them at a time; word w of counter l goes to words[16·w + l].
void PhiloxGroup(RandomKey key, uint32_t first_block, uint64_t sample,
                 uint32_t* __restrict words) {
  constexpr int kStep = static_cast<int>(kVecFloats);
  for (int lane = 0; lane < kLanes; lane += kStep) {
    Words x0;
    for (int l = 0; l < kStep; ++l) {
      x0[l] = first_block + static_cast<uint32_t>(lane + l);
    }
    Words x1 = Words{} + static_cast<uint32_t>(sample);
    Words x2 = Words{} + static_cast<uint32_t>(sample >> 32);
    Words x3 = {};
    RandomKey round_key = key;
    for (int round = 0; round < 10; ++round) {
      const HighLow product0 = Multiply(x0, 0xD2511F53);
      const HighLow product1 = Multiply(x2, 0xCD9E8D57);
      x0 = product1.high ^ x1 ^ round_key.word[0];
      x1 = product1.low;
      x2 = product0.high ^ x3 ^ round_key.word[1];
      x3 = product0.low;
      round_key.word[0] += 0x9E3779B9;
      round_key.word[1] += 0xBB67AE85;
    }
    __builtin_memcpy(words + lane, &x0, sizeof(x0));
    __builtin_memcpy(words + kLanes + lane, &x1, sizeof(x1));
    __builtin_memcpy(words + 2 * kLanes + lane, &x2, sizeof(x2));
    __builtin_memcpy(words + 3 * kLanes + lane, &x3, sizeof(x3));
  }
}

void Apply(const DropoutArgs& args) {
  const double scaled = static_cast<double>(args.rate) * 0x1p+32;
  // rate < 1 as a float is at most 1 − 2^-24, so this fits in 32 bits.
  // No rate comes near the sums whose rounding is wrong.
  // NOLINTNEXTLINE(bugprone-incorrect-roundings)
  const uint32_t threshold = static_cast<uint32_t>(scaled + 0.5);
  const float factor = 1.0f / (1.0f - args.rate);
  for (int64_t r = 0; r < args.rows; ++r) {
    const uint64_t sample = args.first_sample + static_cast<uint64_t>(r);
    for (int64_t e = 0; e < args.dim; e += kGroup) {
      uint32_t words[kGroup];
      PhiloxGroup(args.key, static_cast<uint32_t>(e / kWords), sample, words);
      const int64_t left = args.dim - e;
      const int64_t count = left < kGroup ? left : kGroup;
      const float* x = args.x + r * args.dim + e;
      float* y = args.y + r * args.dim + e;
      SELARI_ELEMENTWISE
      for (int64_t i = 0; i < count; ++i) {
        const float kept = x[i] * factor;
        y[i] = words[i] >= threshold ? kept : 0.0f;
      }
    }
  }
}

}  // namespace

DropoutKernels MakeDropoutKernels() { return {&Apply}; }

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
