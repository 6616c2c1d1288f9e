#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace selari {
namespace reference {

template <class T>
void LayerNormForward(int64_t rows, int64_t dim, T epsilon, const T* x,
                      const T* gain, const T* bias, T* y, T* mean, T* rstd) {
  for (int64_t r = 0; r < rows; ++r, x += dim, y += dim) {
    T sum = 0;
    for (int64_t j = 0; j < dim; ++j) {
      sum += x[j];
    }
    mean[r] = sum / static_cast<T>(dim);
    T squares = 0;
    for (int64_t j = 0; j < dim; ++j) {
      squares += (x[j] - mean[r]) * (x[j] - mean[r]);
    }
    rstd[r] = 1 / std::sqrt(squares / static_cast<T>(dim) + epsilon);
    for (int64_t j = 0; j < dim; ++j) {
      y[j] = (x[j] - mean[r]) * rstd[r] * gain[j] + bias[j];
    }
  }
}

template <class T>
void LayerNormBackward(int64_t rows, int64_t dim, const T* x, const T* gain,
                       const T* mean, const T* rstd, const T* output_grad,
                       T* input_grad, T* gain_grad, T* bias_grad) {
  std::fill_n(gain_grad, dim, T{0});
  std::fill_n(bias_grad, dim, T{0});
  for (int64_t r = 0; r < rows; ++r) {
    const T* grad = output_grad + r * dim;
    T mean_d = 0;
    T mean_dh = 0;
    for (int64_t j = 0; j < dim; ++j) {
      const T h = (x[r * dim + j] - mean[r]) * rstd[r];
      gain_grad[j] += grad[j] * h;
      bias_grad[j] += grad[j];
      mean_d += grad[j] * gain[j] / static_cast<T>(dim);
      mean_dh += grad[j] * gain[j] * h / static_cast<T>(dim);
    }
    for (int64_t j = 0; j < dim; ++j) {
      const T h = (x[r * dim + j] - mean[r]) * rstd[r];
      input_grad[r * dim + j] =
          rstd[r] * (grad[j] * gain[j] - mean_d - h * mean_dh);
    }
  }
}

template void LayerNormForward(int64_t, int64_t, float, const float*,
                               const float*, const float*, float*, float*,
                               float*);
template void LayerNormForward(int64_t, int64_t, double, const double*,
                               const double*, const double*, double*, double*,
                               double*);
template void LayerNormBackward(int64_t, int64_t, const float*, const float*,
                                const float*, const float*, const float*,
                                float*, float*, float*);
template void LayerNormBackward(int64_t, int64_t, const double*, const double*,
                                const double*, const double*, const double*,
                                double*, double*, double*);

}  // namespace reference
}  // namespace selari
