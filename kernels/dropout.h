// Dropout with counter-based randomness (Srivastava et al., JMLR 2014).
//
//   y[r,j] = keep(key, first_sample + r, j) ? x[r,j] · (1/(1 − rate)) : 0
//
// The backward pass is the same function applied to the gradient: nothing is
// saved between them. keep is a pure function of its arguments, so it does not
// depend on who computes a sample:
//
//   With e = j, group g = e div 64, lane = e mod 16, word = (e div 16) mod 4:
//   random(e) is word `word` of Philox4x32(counter, key) (common/random.h) with
//   counter = {16·g + lane, low half of the sample, high half, 0};
//   keep ⇔ random(e) ≥ round-to-nearest(rate · 2^32).
//
// NaN: a dropped NaN gives 0, a kept one NaN. Bit-equal at every level.
// Memory: host. In place allowed; no allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_DROPOUT_H_
#define SELARI_KERNELS_DROPOUT_H_

#include <cstdint>

#include "common/random.h"

namespace selari {

struct DropoutArgs {
  int64_t rows = 0;  // one sample each
  int64_t dim = 0;   // elements of a sample, in [0, 2^34)
  // MakeRandomKey(seed, RandomStream::kDropout, step, layer).
  RandomKey key = {};
  // Index of row 0 in the global batch of this step.
  uint64_t first_sample = 0;
  float rate = 0.0f;         // in [0, 1)
  const float* x = nullptr;  // (rows, dim)
  float* y = nullptr;        // (rows, dim), may be x
};

struct DropoutKernels {
  void (*apply)(const DropoutArgs& args);
};

}  // namespace selari

#endif  // SELARI_KERNELS_DROPOUT_H_
