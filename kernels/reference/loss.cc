#include <algorithm>
#include <cmath>

#include "kernels/reference/reference.h"

namespace selari {
namespace reference {

template <class T>
void SoftmaxCrossEntropy(int64_t rows, int64_t classes, const T* logits,
                         const int32_t* labels, T scale, T* loss, T* grad) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* z = logits + r * classes;
    const T largest = *std::max_element(z, z + classes);
    T sum = 0;
    for (int64_t j = 0; j < classes; ++j) {
      sum += std::exp(z[j] - largest);
    }
    loss[r] = std::log(sum) - (z[labels[r]] - largest);
    for (int64_t j = 0; j < classes; ++j) {
      const T target = j == labels[r] ? 1 : 0;
      grad[r * classes + j] = (std::exp(z[j] - largest) / sum - target) * scale;
    }
  }
}

template <class T>
void Logistic(int64_t rows, const T* logits, const int32_t* labels, T scale,
              T* loss, T* grad) {
  for (int64_t r = 0; r < rows; ++r) {
    const T z = logits[r];
    const T label = static_cast<T>(labels[r]);
    loss[r] =
        std::max(z, T{0}) - z * label + std::log1p(std::exp(-std::abs(z)));
    grad[r] = (1 / (1 + std::exp(-z)) - label) * scale;
  }
}

template <class T>
void SquaredError(int64_t rows, int64_t dim, const T* predicted,
                  const T* target, T scale, T* loss, T* grad) {
  for (int64_t r = 0; r < rows; ++r) {
    T sum = 0;
    for (int64_t j = 0; j < dim; ++j) {
      const T difference = predicted[r * dim + j] - target[r * dim + j];
      sum += difference * difference;
      grad[r * dim + j] = difference * 2 / static_cast<T>(dim) * scale;
    }
    loss[r] = sum / static_cast<T>(dim);
  }
}

template void SoftmaxCrossEntropy(int64_t, int64_t, const float*,
                                  const int32_t*, float, float*, float*);
template void SoftmaxCrossEntropy(int64_t, int64_t, const double*,
                                  const int32_t*, double, double*, double*);
template void Logistic(int64_t, const float*, const int32_t*, float, float*,
                       float*);
template void Logistic(int64_t, const double*, const int32_t*, double, double*,
                       double*);
template void SquaredError(int64_t, int64_t, const float*, const float*, float,
                           float*, float*);
template void SquaredError(int64_t, int64_t, const double*, const double*,
                           double, double*, double*);

}  // namespace reference
}  // namespace selari
