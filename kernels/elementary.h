// Elementwise exp and log from our own polynomials: only IEEE operations in a
// fixed order, so the bits depend on neither libm, the level, the position nor
// the alignment.
//
//   exp    y = eˣ     at most 2 ulp; x > 88.73 gives inf, x < −103.98 gives 0
//   log    y = ln x   at most 2 ulp; 0 gives −inf, negative numbers NaN
//
// Results and inputs below the normal range count; NaN gives NaN.
// Memory: host. In place allowed; no allocation; single-threaded; thread-safe.

#ifndef SELARI_KERNELS_ELEMENTARY_H_
#define SELARI_KERNELS_ELEMENTARY_H_

#include <cstdint>

namespace selari {

struct ElementaryKernels {
  void (*exp)(int64_t n, const float* x, float* y);
  void (*log)(int64_t n, const float* x, float* y);
};

}  // namespace selari

#endif  // SELARI_KERNELS_ELEMENTARY_H_
