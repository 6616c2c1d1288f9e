// The loops of compression_kernels.h, one element (or block) at a time, to be
// read and to be tested against. By arithmetic where the kernels use bits.

#ifndef SELARI_KERNELS_COMPRESSION_REFERENCE_COMPRESSION_REFERENCE_H_
#define SELARI_KERNELS_COMPRESSION_REFERENCE_COMPRESSION_REFERENCE_H_

#include <cstdint>
#include <vector>

namespace selari {
namespace reference {

// The code nearest to a finite value, ties to even; past the largest finite
// one, that.
uint16_t Float16Code(float value);
uint16_t Bfloat16Code(float value);
// What a code stands for.
double Float16Value(uint16_t code);
double Bfloat16Value(uint16_t code);

struct Int8Block {
  float scale = 0.0f;
  std::vector<int8_t> codes;
};
// One block.
Int8Block EncodeInt8Block(const std::vector<float>& values);

// Indices of the `count` largest magnitudes, of equals the first; ascending.
// Zeros are left out.
std::vector<int64_t> LargestElements(const std::vector<float>& values,
                                     int64_t count);

}  // namespace reference
}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_REFERENCE_COMPRESSION_REFERENCE_H_
