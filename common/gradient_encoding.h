// How the bytes of a pushed gradient are to be read. The numbers are those of
// GradientEncoding in parameter_service.proto; kernels/compression has the
// layouts.

#ifndef SELARI_COMMON_GRADIENT_ENCODING_H_
#define SELARI_COMMON_GRADIENT_ENCODING_H_

#include <cstdint>

namespace selari {

// On the wire: never renumber.
enum class GradientEncoding : int32_t {
  kFloat32 = 0,    // as it is
  kFloat16 = 1,    // IEEE 754 binary16
  kBfloat16 = 2,   // the upper half of a float
  kInt8Block = 3,  // 8 bits an element, a scale for each block
  kTopK = 4,       // the largest elements alone
  kLowRank = 5,    // two thin matrices whose product it is, nearly
};

}  // namespace selari

#endif  // SELARI_COMMON_GRADIENT_ENCODING_H_
