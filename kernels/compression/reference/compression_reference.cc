#include "kernels/compression/reference/compression_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/compression/compression_kernels.h"

namespace selari {
namespace reference {
namespace {

// A binary floating-point type of 16 bits: sign, exponent, fraction.
struct Format {
  int fraction_bits;
  int exponent_min;  // of the smallest normal number
  double largest;
};

constexpr Format kFloat16 = {10, -14, kFloat16Max};
constexpr Format kBfloat16 = {7, -126, kBfloat16Max};

uint16_t Encode(const Format& format, float value) {
  const double magnitude = std::fabs(static_cast<double>(value));
  const int exponent =
      std::max(magnitude == 0 ? format.exponent_min : std::ilogb(magnitude),
               format.exponent_min);
  const int unit = exponent - format.fraction_bits;
  // In units of the last place: an integer. It carries into the exponent by
  // itself, as the codes of all magnitudes are in order.
  double units = std::nearbyint(std::ldexp(magnitude, -unit));
  if (std::ldexp(units, unit) > format.largest) {
    return Encode(format,
                  std::copysign(static_cast<float>(format.largest), value));
  }
  const int binade = exponent - format.exponent_min;
  const auto code = static_cast<uint16_t>(
      std::ldexp(static_cast<double>(binade), format.fraction_bits) + units);
  return std::signbit(value) ? code | 0x8000 : code;
}

double Decode(const Format& format, uint16_t code) {
  const int magnitude = code & 0x7fff;
  const int binade = magnitude >> format.fraction_bits;
  const int fraction = magnitude & ((1 << format.fraction_bits) - 1);
  const int hidden = binade == 0 ? 0 : 1 << format.fraction_bits;
  double value = std::ldexp(
      fraction + hidden,
      format.exponent_min + std::max(binade - 1, 0) - format.fraction_bits);
  if (value > format.largest) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (code & 0x8000) != 0 ? -value : value;
}

}  // namespace

uint16_t Float16Code(float value) { return Encode(kFloat16, value); }
uint16_t Bfloat16Code(float value) { return Encode(kBfloat16, value); }
double Float16Value(uint16_t code) { return Decode(kFloat16, code); }
double Bfloat16Value(uint16_t code) { return Decode(kBfloat16, code); }

Int8Block EncodeInt8Block(const std::vector<float>& values) {
  float magnitude = 0;
  for (const float value : values) {
    magnitude = std::max(magnitude, std::fabs(value));
  }
  magnitude = std::min(magnitude, kInt8MagnitudeMax);
  Int8Block block;
  block.codes.assign(values.size(), 0);
  if (magnitude < kInt8MagnitudeMin) {
    return block;
  }
  block.scale = magnitude / 127.0f;
  const float inverse = 127.0f / magnitude;
  for (size_t i = 0; i < values.size(); ++i) {
    const float scaled = values[i] * inverse;
    block.codes[i] = static_cast<int8_t>(
        std::nearbyint(std::max(-127.0f, std::min(127.0f, scaled))));
  }
  return block;
}

std::vector<int64_t> LargestElements(const std::vector<float>& values,
                                     int64_t count) {
  std::vector<int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return std::fabs(values[a]) > std::fabs(values[b]);
  });
  order.resize(std::min<size_t>(order.size(), count));
  order.erase(std::remove_if(order.begin(), order.end(),
                             [&](int64_t i) { return values[i] == 0; }),
              order.end());
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace reference
}  // namespace selari
