// Elementwise sums: of two arrays, and of many along the fixed leaf tree.
//
//   add        y = a + b
//   scale      y = x · factor
//   tree_sum   y = S(0, count), elementwise over the inputs, where
//              S(i, 1) = inputs[i]
//              S(i, n) = S(i, p) + S(i + p, n − p), p the largest power of two
//                        below n
//
// That is the binary tree over leaves in which neighbours are added first and a
// node without a partner moves up unchanged, so summing the nodes of one level
// in this way gives the same bits as summing their leaves.
// One pass: each input is read once and y written once, as fast as memory
// allows. Bit-equal at every level and alignment.
// NaN and infinity spread as IEEE says.
// Memory: host. y may be any of the inputs; no allocation; single-threaded;
// thread-safe.

#ifndef SELARI_KERNELS_TREE_SUM_H_
#define SELARI_KERNELS_TREE_SUM_H_

#include <cstdint>

namespace selari {

// More leaves than anyone cuts a batch into; bounds the stack of partial sums.
constexpr int64_t kLeafCountMax = 4096;

struct TreeSumKernels {
  void (*add)(int64_t n, const float* a, const float* b, float* y);
  void (*scale)(int64_t n, const float* x, float factor, float* y);
  // inputs: (count) arrays of n floats each. REQUIRES: count in
  // [1, kLeafCountMax].
  void (*tree_sum)(int64_t n, int64_t count, const float* const* inputs,
                   float* y);
};

}  // namespace selari

#endif  // SELARI_KERNELS_TREE_SUM_H_
