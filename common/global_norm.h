// Clipping by global norm: one formula for the shard (SYNC) and for a worker
// that clips its own push (BOUNDED and ASYNC).

#ifndef SELARI_COMMON_GLOBAL_NORM_H_
#define SELARI_COMMON_GLOBAL_NORM_H_

#include <algorithm>
#include <cmath>

namespace selari {

// The factor in [0, 1] that brings a gradient whose squares add up to
// `sum_of_squares` (>= 0) down to norm `clip_global_norm` (> 0):
//   min(1, clip / (norm + 1e-6))
// which is what PyTorch's clip_grad_norm_ does, its 1e-6 included: a gradient
// that is exactly at the limit is scaled by 1 - 1e-6 / norm. A zero gradient
// gives a factor and stays zero. Only correctly rounded operations, so the
// bits are the same on every machine.
inline double GlobalNormScale(double sum_of_squares, double clip_global_norm) {
  constexpr double kNormEpsilon = 1e-6;
  return std::min(
      1.0, clip_global_norm / (std::sqrt(sum_of_squares) + kNormEpsilon));
}

}  // namespace selari

#endif  // SELARI_COMMON_GLOBAL_NORM_H_
