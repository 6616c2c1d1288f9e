// Rectified linear unit.
//
//   forward    y = x ≤ 0 ? 0 : x
//   backward   input_grad = y ≤ 0 ? 0 : output_grad
//
// The backward pass needs only the output y. NaN: a NaN x gives NaN y, and the
// gradient passes where y is NaN, so that a NaN is never hidden.
// Elementwise over n ≥ 0 elements, in place allowed; bit-equal at every level.
// Memory: host. No allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_RELU_H_
#define SELARI_KERNELS_RELU_H_

#include <cstdint>

namespace selari {

struct ReluKernels {
  void (*forward)(int64_t n, const float* x, float* y);
  void (*backward)(int64_t n, const float* y, const float* output_grad,
                   float* input_grad);
};

}  // namespace selari

#endif  // SELARI_KERNELS_RELU_H_
