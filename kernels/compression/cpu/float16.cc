#include <cstdint>
#include <cstring>

#include "kernels/compression/cpu/compression_table.h"

// Integer arithmetic alone, not the processor's conversion: level 2 has none,
// and the loops are bound by memory all the same.

namespace selari {
namespace SELARI_ISA_NAMESPACE {
namespace {

constexpr std::uint32_t kSign = 0x80000000u;
constexpr std::uint32_t kInfinity = 0x7f800000u;

inline std::uint32_t BitsOf(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

inline float FloatOf(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// Bits of |x| in, 15 bits of binary16 out.
inline std::uint32_t Float16OfMagnitude(std::uint32_t magnitude) {
  constexpr std::uint32_t kLargest = 0x477fe000u;  // kFloat16Max
  constexpr std::uint32_t kNormal = 0x38800000u;   // 2^-14
  // From the exponent's bias of 127 to that of 15.
  constexpr std::uint32_t kRebias = (127u - 15u) << 23;
  // One half: its last bit is worth 2^-24, the unit of binary16's subnormals,
  // so that the sum rounds to that.
  constexpr std::uint32_t kHalf = 0x3f000000u;
  const std::uint32_t cut = magnitude < kLargest ? magnitude : kLargest;
  const std::uint32_t subnormal = BitsOf(FloatOf(cut) + FloatOf(kHalf)) - kHalf;
  const std::uint32_t normal =
      (cut - kRebias + 0xfffu + ((cut >> 13) & 1u)) >> 13;
  return cut < kNormal ? subnormal : normal;
}

inline std::uint32_t FloatOfFloat16(std::uint32_t code) {
  constexpr std::uint32_t kRebias = (127u - 15u) << 23;
  const std::uint32_t sign = (code & 0x8000u) << 16;
  const std::uint32_t magnitude = code & 0x7fffu;
  // A product with a power of two: exact.
  const std::uint32_t subnormal = BitsOf(
      static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f);
  const std::uint32_t normal = (magnitude << 13) + kRebias;
  const std::uint32_t finite = magnitude < 0x400u ? subnormal : normal;
  return sign | (magnitude < 0x7c00u ? finite : (magnitude << 13) | kInfinity);
}

inline std::uint32_t Bfloat16OfMagnitude(std::uint32_t magnitude) {
  constexpr std::uint32_t kLargest = 0x7f7f0000u;  // kBfloat16Max
  const std::uint32_t cut = magnitude < kLargest ? magnitude : kLargest;
  return (cut + 0x7fffu + ((cut >> 16) & 1u)) >> 16;
}

}  // namespace

bool Accumulate(std::int64_t n, const float* __restrict gradient,
                float* __restrict values) {
  // As all_finite of the optimizer kernels.
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const float sum = values[i] + gradient[i];
    values[i] = sum;
    const std::uint32_t magnitude = BitsOf(sum) & ~kSign;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest < kInfinity;
}

void Float16Encode(std::int64_t n, float* __restrict values,
                   std::uint16_t* __restrict codes) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = BitsOf(values[i]);
    const std::uint32_t code =
        (bits & kSign) >> 16 | Float16OfMagnitude(bits & ~kSign);
    codes[i] = static_cast<std::uint16_t>(code);
    values[i] -= FloatOf(FloatOfFloat16(code));
  }
}

void Float16Decode(std::int64_t n, const UnalignedCode16* __restrict codes,
                   float* __restrict y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = FloatOf(FloatOfFloat16(codes[i]));
  }
}

void Bfloat16Encode(std::int64_t n, float* __restrict values,
                    std::uint16_t* __restrict codes) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t bits = BitsOf(values[i]);
    const std::uint32_t code =
        (bits & kSign) >> 16 | Bfloat16OfMagnitude(bits & ~kSign);
    codes[i] = static_cast<std::uint16_t>(code);
    values[i] -= FloatOf(code << 16);
  }
}

void Bfloat16Decode(std::int64_t n, const UnalignedCode16* __restrict codes,
                    float* __restrict y) {
  for (std::int64_t i = 0; i < n; ++i) {
    y[i] = FloatOf(std::uint32_t{codes[i]} << 16);
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
