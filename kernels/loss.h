// Losses: the value per row and the gradient, in one pass.
//
//   softmax_cross_entropy   loss[r] = log Σ_j exp(z[r,j]) − z[r, label[r]]
//                           grad[r,j] = (softmax(z[r])[j] − [j = label])·scale
//   logistic                loss[r] = log(1 + exp(−z))   for label 1
//                                     log(1 + exp(z))    for label 0
//                           grad[r] = (1/(1 + exp(−z)) − label)·scale
//   squared_error           loss[r] = Σ_j (z[r,j] − target[r,j])² / dim
//                           grad[r,j] = (z − target)·(2/dim)·scale
//
// `scale` is 1/(global batch size) for the mean over the batch; the losses are
// not scaled. Add losses with sum_in_order, in double, so that the total does
// not depend on the split.
// Sums over j as in layer_norm.h (16 lanes, then a tree); exp and log are the
// polynomials of kernels/cpu/vector_math.h (at most 2 ulp). A row's results
// depend on that row only; bit-equal at every level and alignment.
// NaN: a NaN logit makes its row's loss and gradients NaN. Logits of ±inf make
// NaN too, except −inf in softmax, which has probability 0.
// Memory: host. grad may be the logits; no allocation; single-threaded;
// thread-safe.

#ifndef SELARI_KERNELS_LOSS_H_
#define SELARI_KERNELS_LOSS_H_

#include <cstdint>

namespace selari {

struct SoftmaxCrossEntropyArgs {
  int64_t rows = 0;
  int64_t classes = 0;              // at least 1
  const float* logits = nullptr;    // (rows, classes)
  const int32_t* labels = nullptr;  // (rows), REQUIRES: in [0, classes)
  float scale = 1.0f;
  float* loss = nullptr;  // (rows)
  float* grad = nullptr;  // (rows, classes), or null if not wanted
};

struct LogisticArgs {
  int64_t rows = 0;
  const float* logits = nullptr;    // (rows)
  const int32_t* labels = nullptr;  // (rows), 0 or 1
  float scale = 1.0f;
  float* loss = nullptr;  // (rows)
  float* grad = nullptr;  // (rows), or null if not wanted
};

struct SquaredErrorArgs {
  int64_t rows = 0;
  int64_t dim = 0;                   // at least 1
  const float* predicted = nullptr;  // (rows, dim)
  const float* target = nullptr;     // (rows, dim)
  float scale = 1.0f;
  float* loss = nullptr;  // (rows)
  float* grad = nullptr;  // (rows, dim), or null if not wanted
};

struct LossKernels {
  void (*softmax_cross_entropy)(const SoftmaxCrossEntropyArgs& args);
  void (*logistic)(const LogisticArgs& args);
  void (*squared_error)(const SquaredErrorArgs& args);
  // Σ values[i] in double, in ascending order.
  double (*sum_in_order)(int64_t n, const float* values);
};

}  // namespace selari

#endif  // SELARI_KERNELS_LOSS_H_
