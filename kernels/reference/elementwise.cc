#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace selari {
namespace reference {

template <class T>
void BiasAdd(int64_t rows, int64_t dim, const T* x, const T* bias, T* y) {
  for (int64_t i = 0; i < rows * dim; ++i) {
    y[i] = x[i] + bias[i % dim];
  }
}

template <class T>
void BiasGrad(int64_t rows, int64_t dim, const T* output_grad, T* bias_grad) {
  std::fill_n(bias_grad, dim, T{0});
  for (int64_t i = 0; i < rows * dim; ++i) {
    bias_grad[i % dim] += output_grad[i];
  }
}

template <class T>
void ReluForward(int64_t n, const T* x, T* y) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[i] <= 0 ? T{0} : x[i];
  }
}

template <class T>
void ReluBackward(int64_t n, const T* y, const T* output_grad, T* input_grad) {
  for (int64_t i = 0; i < n; ++i) {
    input_grad[i] = y[i] <= 0 ? T{0} : output_grad[i];
  }
}

namespace {

uint32_t DropoutWord(RandomKey key, uint64_t sample, int64_t e) {
  const int64_t group = e / 64;
  const int64_t lane = e % 16;
  const int64_t word = e / 16 % 4;
  return Philox4x32(
      {static_cast<uint32_t>(group * 16 + lane), static_cast<uint32_t>(sample),
       static_cast<uint32_t>(sample >> 32), 0},
      key)[word];
}

template <class T>
T TreeSumAt(int64_t j, int64_t first, int64_t count, const T* const* inputs) {
  if (count == 1) {
    return inputs[first][j];
  }
  int64_t left = 1;
  while (2 * left < count) {
    left *= 2;
  }
  return TreeSumAt(j, first, left, inputs) +
         TreeSumAt(j, first + left, count - left, inputs);
}

}  // namespace

template <class T>
void Dropout(int64_t rows, int64_t dim, RandomKey key, uint64_t first_sample,
             float rate, const T* x, T* y) {
  const double threshold = std::round(rate * 0x1p+32);
  const T factor = 1.0f / (1.0f - rate);
  for (int64_t i = 0; i < rows * dim; ++i) {
    const uint64_t sample = first_sample + static_cast<uint64_t>(i / dim);
    const bool keep = DropoutWord(key, sample, i % dim) >= threshold;
    y[i] = keep ? x[i] * factor : T{0};
  }
}

template <class T>
void TreeSum(int64_t n, int64_t count, const T* const* inputs, T* y) {
  for (int64_t j = 0; j < n; ++j) {
    y[j] = TreeSumAt(j, 0, count, inputs);
  }
}

template void BiasAdd(int64_t, int64_t, const float*, const float*, float*);
template void BiasAdd(int64_t, int64_t, const double*, const double*, double*);
template void BiasGrad(int64_t, int64_t, const float*, float*);
template void BiasGrad(int64_t, int64_t, const double*, double*);
template void ReluForward(int64_t, const float*, float*);
template void ReluForward(int64_t, const double*, double*);
template void ReluBackward(int64_t, const float*, const float*, float*);
template void ReluBackward(int64_t, const double*, const double*, double*);
template void Dropout(int64_t, int64_t, RandomKey, uint64_t, float,
                      const float*, float*);
template void Dropout(int64_t, int64_t, RandomKey, uint64_t, float,
                      const double*, double*);
template void TreeSum(int64_t, int64_t, const float* const*, float*);
template void TreeSum(int64_t, int64_t, const double* const*, double*);

}  // namespace reference
}  // namespace selari
