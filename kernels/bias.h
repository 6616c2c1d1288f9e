// Adding a bias to rows, and its gradient.
//
//   add    y[r,j] = x[r,j] + bias[j]          (rows, dim), in place allowed
//   grad   bias_grad[j] = Σ_r output_grad[r,j]
//
// Order of the sum: row r goes to lane r mod 4; each lane adds its rows in
// ascending order from 0; then (lane 0 + lane 1) + (lane 2 + lane 3). Bit-equal
// at every level and alignment.
// NaN and infinity spread as IEEE says.
// Memory: host. No allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_BIAS_H_
#define SELARI_KERNELS_BIAS_H_

#include <cstdint>

namespace selari {

struct BiasKernels {
  // x and y (rows, dim), bias (dim).
  void (*add)(int64_t rows, int64_t dim, const float* x, const float* bias,
              float* y);
  // output_grad (rows, dim), bias_grad (dim), overwritten: all 0 for rows = 0.
  void (*grad)(int64_t rows, int64_t dim, const float* output_grad,
               float* bias_grad);
};

}  // namespace selari

#endif  // SELARI_KERNELS_BIAS_H_
