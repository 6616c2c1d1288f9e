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

// Philox4x32-10 (common/random.h) for 16 neighbouring counters at once. Written
// over arrays so that each line becomes a few vector instructions.
void PhiloxGroup(RandomKey key, uint32_t first_block, uint64_t sample,
                 uint32_t* __restrict words) {
  uint32_t x0[kLanes];
  uint32_t x1[kLanes];
  uint32_t x2[kLanes];
  uint32_t x3[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    x0[l] = first_block + static_cast<uint32_t>(l);
    x1[l] = static_cast<uint32_t>(sample);
    x2[l] = static_cast<uint32_t>(sample >> 32);
    x3[l] = 0;
  }
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < kLanes; ++l) {
      const uint64_t product0 = uint64_t{0xD2511F53} * x0[l];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * x2[l];
      x0[l] = static_cast<uint32_t>(product1 >> 32) ^ x1[l] ^ key.word[0];
      x1[l] = static_cast<uint32_t>(product1);
      x2[l] = static_cast<uint32_t>(product0 >> 32) ^ x3[l] ^ key.word[1];
      x3[l] = static_cast<uint32_t>(product0);
    }
    key.word[0] += 0x9E3779B9;
    key.word[1] += 0xBB67AE85;
  }
  for (int l = 0; l < kLanes; ++l) {
    words[l] = x0[l];
    words[kLanes + l] = x1[l];
    words[2 * kLanes + l] = x2[l];
    words[3 * kLanes + l] = x3[l];
  }
}

void Apply(const DropoutArgs& args) {
  const double scaled = static_cast<double>(args.rate) * 0x1p+32;
  // rate < 1 as a float is at most 1 − 2^-24, so this fits in 32 bits.
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
