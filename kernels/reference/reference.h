// The oracle: every operation of kernels/ as plain loops, to be read and to be
// tested against. Formulas, shapes and aliasing are those of the contract
// headers; the order of sums is simply ascending. T is float or double; double
// is for finite differences, where float would drown the difference in
// rounding.
//
// Slow. No tricks, no workspace. Thread-safe.

#ifndef SELARI_KERNELS_REFERENCE_REFERENCE_H_
#define SELARI_KERNELS_REFERENCE_REFERENCE_H_

#include <cstdint>

#include "common/random.h"
#include "kernels/conv2d.h"
#include "kernels/gemm.h"
#include "kernels/max_pool2d.h"

namespace selari {
namespace reference {

// Dense operands; c is overwritten.
template <class T>
void GemmAb(const GemmShape& shape, const T* a, const T* b, T* c);
template <class T>
void GemmAbt(const GemmShape& shape, const T* a, const T* b, T* c);
template <class T>
void GemmAtb(const GemmShape& shape, const T* a, const T* b, T* c);

// bias may be null.
template <class T>
void Conv2DForward(const Conv2DShape& shape, const T* input, const T* weight,
                   const T* bias, T* output);
template <class T>
void Conv2DInputGrad(const Conv2DShape& shape, const T* output_grad,
                     const T* weight, T* input_grad);
template <class T>
void Conv2DWeightGrad(const Conv2DShape& shape, const T* input,
                      const T* output_grad, T* weight_grad);

template <class T>
void MaxPool2DForward(const MaxPool2DShape& shape, const T* input, T* output,
                      int32_t* argmax);
template <class T>
void MaxPool2DBackward(const MaxPool2DShape& shape, const T* output_grad,
                       const int32_t* argmax, T* input_grad);

template <class T>
void BiasAdd(int64_t rows, int64_t dim, const T* x, const T* bias, T* y);
template <class T>
void BiasGrad(int64_t rows, int64_t dim, const T* output_grad, T* bias_grad);

template <class T>
void ReluForward(int64_t n, const T* x, T* y);
template <class T>
void ReluBackward(int64_t n, const T* y, const T* output_grad, T* input_grad);

template <class T>
void Dropout(int64_t rows, int64_t dim, RandomKey key, uint64_t first_sample,
             float rate, const T* x, T* y);

template <class T>
void LayerNormForward(int64_t rows, int64_t dim, T epsilon, const T* x,
                      const T* gain, const T* bias, T* y, T* mean, T* rstd);
template <class T>
void LayerNormBackward(int64_t rows, int64_t dim, const T* x, const T* gain,
                       const T* mean, const T* rstd, const T* output_grad,
                       T* input_grad, T* gain_grad, T* bias_grad);

template <class T>
void SoftmaxCrossEntropy(int64_t rows, int64_t classes, const T* logits,
                         const int32_t* labels, T scale, T* loss, T* grad);
template <class T>
void Logistic(int64_t rows, const T* logits, const int32_t* labels, T scale,
              T* loss, T* grad);
template <class T>
void SquaredError(int64_t rows, int64_t dim, const T* predicted,
                  const T* target, T scale, T* loss, T* grad);

// Along the tree of tree_sum.h: also the oracle of that order.
template <class T>
void TreeSum(int64_t n, int64_t count, const T* const* inputs, T* y);

}  // namespace reference
}  // namespace selari

#endif  // SELARI_KERNELS_REFERENCE_REFERENCE_H_
