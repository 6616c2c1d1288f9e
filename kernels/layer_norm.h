// Layer normalisation over the last axis (Ba, Kiros, Hinton, 2016).
//
//   mean[r] = Σ_j x[r,j] / dim
//   rstd[r] = 1/√(Σ_j (x[r,j] − mean[r])² / dim + epsilon)
//   y[r,j]  = (x[r,j] − mean[r])·rstd[r]·gain[j] + bias[j]
//
//   with h = (x − mean)·rstd and d = output_grad·gain:
//   input_grad[r,j] = rstd[r]·(d − Σd/dim − h·Σ(d·h)/dim)
//   gain_grad[j] = Σ_r output_grad·h,   bias_grad[j] = Σ_r output_grad
//
// Order of sums over j: element j goes to lane j mod 16, lanes add in ascending
// order, then a binary tree over the lanes (l and l + 8, then 4, 2, 1). Over r:
// as bias.h. Products and sums are rounded separately. A row's results depend
// on that row only; bit-equal at every level and alignment.
// NaN: spreads over its row, and over gain_grad and bias_grad.
// Memory: host. No allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_LAYER_NORM_H_
#define SELARI_KERNELS_LAYER_NORM_H_

#include <cstdint>

namespace selari {

struct LayerNormForwardArgs {
  int64_t rows = 0;
  int64_t dim = 0;              // at least 1
  float epsilon = 1e-5f;        // > 0
  const float* x = nullptr;     // (rows, dim)
  const float* gain = nullptr;  // (dim)
  const float* bias = nullptr;  // (dim)
  float* y = nullptr;           // (rows, dim), may be x
  float* mean = nullptr;        // (rows), kept for the backward pass
  float* rstd = nullptr;        // (rows), kept for the backward pass
};

struct LayerNormBackwardArgs {
  int64_t rows = 0;
  int64_t dim = 0;                     // at least 1
  const float* x = nullptr;            // (rows, dim), the forward input
  const float* gain = nullptr;         // (dim)
  const float* mean = nullptr;         // (rows)
  const float* rstd = nullptr;         // (rows)
  const float* output_grad = nullptr;  // (rows, dim)
  float* input_grad = nullptr;         // (rows, dim), may be output_grad; null
                                       // if not wanted
  float* gain_grad = nullptr;          // (dim), overwritten
  float* bias_grad = nullptr;          // (dim), overwritten
  float* workspace = nullptr;          // workspace_floats(dim)
};

struct LayerNormKernels {
  int64_t (*workspace_floats)(int64_t dim);
  void (*forward)(const LayerNormForwardArgs& args);
  void (*backward)(const LayerNormBackwardArgs& args);
};

}  // namespace selari

#endif  // SELARI_KERNELS_LAYER_NORM_H_
