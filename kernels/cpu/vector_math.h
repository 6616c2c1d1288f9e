// exp, log and fixed-order sums, as plain arithmetic that the compiler may
// vectorise without changing a bit: no fused multiply-add, no libm.

#ifndef SELARI_KERNELS_CPU_VECTOR_MATH_H_
#define SELARI_KERNELS_CPU_VECTOR_MATH_H_

#include <cstdint>

namespace selari {
namespace SELARI_ISA_NAMESPACE {

// Bits are unsigned: arithmetic on those of a NaN may wrap around.
inline float FloatFromBits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof(x));
  return x;
}

inline uint32_t BitsFromFloat(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  return bits;
}

// ln 2 in two parts: n·kLn2High is exact for |n| < 2^11.
constexpr float kLn2High = 0x1.62ep-1f;
constexpr float kLn2Low = 0x1.0bfbe8p-15f;

// eˣ = 2ⁿ·eʳ with n = round(x/ln 2), so |r| ≤ ln 2/2, and eʳ by its Taylor
// series up to r⁷; the first term left out is 5e-9, a tenth of an ulp.
inline float Exp(float x) {
  // Beyond these bounds the result is inf or 0. NaN passes both comparisons.
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  // Adding 1.5·2^23 rounds to an integer, which then stands in the low bits.
  constexpr float kRound = 0x1.8p+23f;
  const float shifted = x * 0x1.715476p+0f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float series = 1.0f / 5040.0f;
  series = series * r + 1.0f / 720.0f;
  series = series * r + 1.0f / 120.0f;
  series = series * r + 1.0f / 24.0f;
  series = series * r + 1.0f / 6.0f;
  series = series * r + 0.5f;
  series = (series * r) * r + r;
  // 2ⁿ in two factors, so that results below the normal range come out right.
  const uint32_t exponent = BitsFromFloat(shifted) - BitsFromFloat(kRound);
  const uint32_t half =
      static_cast<uint32_t>(static_cast<int32_t>(exponent) >> 1);
  const float scale0 = FloatFromBits((half + 127) << 23);
  const float scale1 = FloatFromBits((exponent - half + 127) << 23);
  return (series + 1.0f) * scale0 * scale1;
}

// ln x = e·ln 2 + ln m with m in [√½, √2); with s = (m − 1)/(m + 1),
// ln m = 2s·(1 + s²/3 + s⁴/5 + s⁶/7 + s⁸/9); s² < 0.0295, so the first term
// left out is below 3e-9.
inline float Log(float x) {
  const bool tiny = x < 0x1p-126f;  // lift into the normal range
  const float lifted = tiny ? x * 0x1p+23f : x;
  // Subtracting the bits of √½ makes the exponent field change at √½, not 1.
  constexpr uint32_t kSqrtHalf = 0x3F3504F3;
  const uint32_t offset = BitsFromFloat(lifted) - kSqrtHalf;
  const int32_t exponent = static_cast<int32_t>(offset) >> 23;
  const float m = FloatFromBits((offset & 0x007FFFFF) + kSqrtHalf);
  const float e = static_cast<float>(exponent - (tiny ? 23 : 0));
  const float f = m - 1.0f;
  const float s = f / (m + 1.0f);
  const float s2 = s * s;
  float series = 1.0f / 9.0f;
  series = series * s2 + 1.0f / 7.0f;
  series = series * s2 + 1.0f / 5.0f;
  series = series * s2 + 1.0f / 3.0f;
  // 2s = f − s·f, and f is exact: ln m = f − s·(f − 2·s²·series).
  const float log_m = f - s * (f - 2.0f * (s2 * series));
  float y = e * kLn2High + (log_m + e * kLn2Low);
  y = x == __builtin_inff() ? x : y;
  y = x == 0.0f ? -__builtin_inff() : y;
  // Negative or NaN.
  return x >= 0.0f ? y : __builtin_nanf("");
}

// ln(1 + x) for x in [0, 1]: 2·artanh(s) with s = x/(2 + x) ≤ 1/3, by its
// series up to s¹⁵; the first term left out is below 2e-9 of the result. NaN
// stays.
inline float Log1p(float x) {
  const float s = x / (2.0f + x);
  const float s2 = s * s;
  float series = 1.0f / 15.0f;
  series = series * s2 + 1.0f / 13.0f;
  series = series * s2 + 1.0f / 11.0f;
  series = series * s2 + 1.0f / 9.0f;
  series = series * s2 + 1.0f / 7.0f;
  series = series * s2 + 1.0f / 5.0f;
  series = series * s2 + 1.0f / 3.0f;
  return 2.0f * (s + s * (s2 * series));
}

// Lanes of every sum within a row: as wide as the widest register, at every
// level, so that the order is the same everywhere.
constexpr int kSumLanes = 16;

// The sum of the lanes, pairs l and l + 8 first, then 4, 2 and 1 apart.
inline float SumLanes(float* lanes) {
  for (int width = kSumLanes / 2; width >= 1; width /= 2) {
    for (int l = 0; l < width; ++l) {
      lanes[l] += lanes[l + width];
    }
  }
  return lanes[0];
}

// Σ value(j) over j in [0, n): j in lane j mod 16, ascending within a lane.
template <class Value>
inline float SumInLanes(int64_t n, const Value& value) {
  float lanes[kSumLanes] = {};
  int64_t j = 0;
  for (; j + kSumLanes <= n; j += kSumLanes) {
    for (int l = 0; l < kSumLanes; ++l) {
      lanes[l] += value(j + l);
    }
  }
  for (int l = 0; j + l < n; ++l) {
    lanes[l] += value(j + l);
  }
  return SumLanes(lanes);
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari

#endif  // SELARI_KERNELS_CPU_VECTOR_MATH_H_
