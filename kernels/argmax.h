// The index of each row's largest element, and counts of right answers.
//
// Ties: the lowest index. NaN counts as larger than any number (the first NaN
// wins), so a row with NaN is not silently right. Bit-equal at every level.
// Memory: host. No allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_ARGMAX_H_
#define SELARI_KERNELS_ARGMAX_H_

#include <cstdint>

namespace selari {

struct ArgmaxKernels {
  // x (rows, dim), index (rows). REQUIRES: dim ≥ 1.
  void (*rows)(int64_t rows, int64_t dim, const float* x, int32_t* index);
  // How many rows of x (rows, dim) have their argmax at labels[r]; a row with
  // a NaN is wrong. REQUIRES: dim ≥ 1.
  int64_t (*count_correct)(int64_t rows, int64_t dim, const float* x,
                           const int32_t* labels);
  // The same for one logit a row: right when (logit > 0) = (label = 1); NaN is
  // wrong.
  int64_t (*count_correct_binary)(int64_t rows, const float* logits,
                                  const int32_t* labels);
};

}  // namespace selari

#endif  // SELARI_KERNELS_ARGMAX_H_
