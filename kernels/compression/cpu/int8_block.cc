#include <cstdint>
#include <cstring>

#include "kernels/compression/cpu/compression_table.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {
namespace {

// 3 * 2^22: a float of this size has a last bit worth 1, so adding it and
// taking it off again rounds to an integer, ties to even.
constexpr float kRound = 12582912.0f;

// The largest |values[i]|; an integer maximum may be taken in any order.
float LargestMagnitude(std::int64_t n, const float* values) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    std::int32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    bits &= 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  float magnitude;
  std::memcpy(&magnitude, &largest, sizeof(magnitude));
  return magnitude;
}

void EncodeBlock(std::int64_t n, float inverse, float scale,
                 float* __restrict values, std::int8_t* __restrict codes) {
  for (std::int64_t i = 0; i < n; ++i) {
    const float scaled = values[i] * inverse;
    const float below = scaled < 127.0f ? scaled : 127.0f;
    const float cut = below > -127.0f ? below : -127.0f;
    const float rounded = (cut + kRound) - kRound;
    codes[i] = static_cast<std::int8_t>(static_cast<std::int32_t>(rounded));
    values[i] -= rounded * scale;
  }
}

}  // namespace

void Int8Encode(std::int64_t n, std::int64_t block, float* values,
                float* scales, std::int8_t* codes) {
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t size = n - begin < block ? n - begin : block;
    const float largest = LargestMagnitude(size, values + begin);
    const float magnitude =
        largest < kInt8MagnitudeMax ? largest : kInt8MagnitudeMax;
    const bool zero = magnitude < kInt8MagnitudeMin;
    const float scale = zero ? 0.0f : magnitude / 127.0f;
    const float inverse = zero ? 0.0f : 127.0f / magnitude;
    scales[begin / block] = scale;
    EncodeBlock(size, inverse, scale, values + begin, codes + begin);
  }
}

void Int8Decode(std::int64_t n, std::int64_t block,
                const UnalignedFloat* __restrict scales,
                const std::int8_t* __restrict codes, float* __restrict y) {
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t end = n - begin < block ? n : begin + block;
    const float scale = scales[begin / block];
    for (std::int64_t i = begin; i < end; ++i) {
      y[i] = static_cast<float>(std::int32_t{codes[i]}) * scale;
    }
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
