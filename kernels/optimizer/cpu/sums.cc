#include <cstdint>
#include <cstring>

#include "kernels/optimizer/cpu/update_loops.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

double SumOfSquares(float clip_value, const UnalignedFloat* grad,
                    std::int64_t n) {
  double lanes[kSumLanes] = {};
  std::int64_t i = 0;
  for (; i + kSumLanes <= n; i += kSumLanes) {
    for (int lane = 0; lane < kSumLanes; ++lane) {
      const double g = Clip(grad[i + lane], clip_value);
      lanes[lane] += g * g;
    }
  }
  for (int lane = 0; i + lane < n; ++lane) {
    const double g = Clip(grad[i + lane], clip_value);
    lanes[lane] += g * g;
  }
  return SumOfLanes(lanes);
}

void ClipAndScale(float clip_value, float scale, float* grad, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    grad[i] = Clip(grad[i], clip_value) * scale;
  }
}

bool AllFinite(const UnalignedFloat* values, std::int64_t n) {
  // Without the sign, NaN and infinity are the largest bit patterns: those
  // whose exponent is all ones. An integer maximum may be taken in any order.
  constexpr std::uint32_t kWithoutSign = 0x7fffffffu;
  constexpr std::uint32_t kInfinity = 0x7f800000u;
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    bits &= kWithoutSign;
    largest = bits > largest ? bits : largest;
  }
  return largest < kInfinity;
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
