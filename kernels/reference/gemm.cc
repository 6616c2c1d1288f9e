#include "kernels/reference/reference.h"

namespace selari {
namespace reference {

template <class T>
void GemmAb(const GemmShape& shape, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.cols; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < shape.depth; ++k) {
        sum += a[i * shape.depth + k] * b[k * shape.cols + j];
      }
      c[i * shape.cols + j] = sum;
    }
  }
}

template <class T>
void GemmAbt(const GemmShape& shape, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.cols; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < shape.depth; ++k) {
        sum += a[i * shape.depth + k] * b[j * shape.depth + k];
      }
      c[i * shape.cols + j] = sum;
    }
  }
}

template <class T>
void GemmAtb(const GemmShape& shape, const T* a, const T* b, T* c) {
  for (int64_t i = 0; i < shape.rows; ++i) {
    for (int64_t j = 0; j < shape.cols; ++j) {
      T sum = 0;
      for (int64_t k = 0; k < shape.depth; ++k) {
        sum += a[k * shape.rows + i] * b[k * shape.cols + j];
      }
      c[i * shape.cols + j] = sum;
    }
  }
}

template void GemmAb(const GemmShape&, const float*, const float*, float*);
template void GemmAb(const GemmShape&, const double*, const double*, double*);
template void GemmAbt(const GemmShape&, const float*, const float*, float*);
template void GemmAbt(const GemmShape&, const double*, const double*, double*);
template void GemmAtb(const GemmShape&, const float*, const float*, float*);
template void GemmAtb(const GemmShape&, const double*, const double*, double*);

}  // namespace reference
}  // namespace selari
