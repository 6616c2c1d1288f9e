// The loops of the gradient codecs (gradient_codec.h has the codecs).
//
// Error feedback: what an encoding loses is kept and added to the next gradient
// (Seide et al., 2014; Karimireddy et al., 2019). So each encoder takes an
// array `values` that holds gradient + residual, and leaves in it the new
// residual: values - decode(encode(values)).
//
// Arrays. `n` elements each, in host memory, at any address of their type;
// codes and scales that are read may lie at any address at all. n >= 0; a
// pointer may be null when n is 0. No two arrays overlap.
//
// Bits. Correctly rounded float operations in the order written here, none of
// them fused: the same at every instruction-set level. Rounding to a code is to
// the nearest, ties to even. Sums are added in blocked order (16 lanes, then
// pairwise).
//
// Encoders want finite values (see accumulate); decoders turn any codes into
// some floats, infinite or NaN ones included. Safe from any thread.
//
// `reference/compression_reference.h` has the same loops to be read. This
// header is compiled for several instruction sets and defines no function; the
// choice between them is in choose_compression_kernels.h.

#ifndef SELARI_KERNELS_COMPRESSION_COMPRESSION_KERNELS_H_
#define SELARI_KERNELS_COMPRESSION_COMPRESSION_KERNELS_H_

#include <cstdint>

#include "common/unaligned_float.h"

namespace selari {

// A 16-bit code wherever the network put it.
typedef std::uint16_t UnalignedCode16 __attribute__((aligned(1), may_alias));

// The largest finite values of the 16-bit types: larger ones become these, and
// the residual keeps the difference.
constexpr float kFloat16Max = 65504.0f;
constexpr float kBfloat16Max = 0x1.FEp127f;

// int8: blocks whose largest magnitude is below this are sent as zeros, so that
// the reciprocal of a scale is finite.
constexpr float kInt8MagnitudeMin = 0x1p-100f;
// Larger magnitudes are sent as this.
constexpr float kInt8MagnitudeMax = 0x1p127f;

struct CompressionKernels {
  // values += gradient. True if every sum is finite.
  bool (*accumulate)(std::int64_t n, const float* gradient, float* values);

  // codes[i] = binary16 nearest to values[i], values[i] -= codes[i].
  void (*float16_encode)(std::int64_t n, float* values, std::uint16_t* codes);
  // y[i] = codes[i]; exact.
  void (*float16_decode)(std::int64_t n, const UnalignedCode16* codes,
                         float* y);

  // The same with the 16 upper bits of a float.
  void (*bfloat16_encode)(std::int64_t n, float* values, std::uint16_t* codes);
  void (*bfloat16_decode)(std::int64_t n, const UnalignedCode16* codes,
                          float* y);

  // One scale for each `block` elements, the last block may be shorter:
  //   m        = min(max |values[i]| of the block, kInt8MagnitudeMax)
  //   scale    = m / 127, inverse = 127 / m; both 0 for m < kInt8MagnitudeMin
  //   codes[i] = nearest integer to values[i] * inverse, in [-127, 127]
  //   values[i] -= codes[i] * scale
  // scales: (ceil(n / block)). REQUIRES: block > 0.
  void (*int8_encode)(std::int64_t n, std::int64_t block, float* values,
                      float* scales, std::int8_t* codes);
  // y[i] = codes[i] * scale
  void (*int8_decode)(std::int64_t n, std::int64_t block,
                      const UnalignedFloat* scales, const std::int8_t* codes,
                      float* y);

  // The sum of a[i] * b[i], in double.
  double (*dot)(std::int64_t n, const float* a, const float* b);
  // y[i] += factor * x[i]
  void (*add_scaled)(std::int64_t n, float factor, const UnalignedFloat* x,
                     float* y);
};

}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_COMPRESSION_KERNELS_H_
