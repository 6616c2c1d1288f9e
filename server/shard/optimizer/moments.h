// What Adam, AdamW and LAMB share: running means of the gradient and of its
// square, and the correction of their start at zero. Private to this folder.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_MOMENTS_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_MOMENTS_H_

#include <cmath>
#include <cstdint>

#include "common/portable_math.h"
#include "kernels/optimizer/optimizer_kernels.h"

namespace selari {

inline MomentTerms MakeMomentTerms(double beta1, double beta2) {
  MomentTerms terms;
  terms.beta1 = static_cast<float>(beta1);
  terms.one_minus_beta1 = static_cast<float>(1 - beta1);
  terms.beta2 = static_cast<float>(beta2);
  terms.one_minus_beta2 = static_cast<float>(1 - beta2);
  return terms;
}

// What a running mean with decay `beta` is multiplied by after `step` updates
// (>= 1): 1 / (1 - beta^step), which is 1 when beta^step has vanished.
inline double MeanCorrection(double beta, int64_t step) {
  return 1 / (1 - PowInt(beta, step));
}

// The same for the root of a running mean.
inline double RootCorrection(double beta, int64_t step) {
  return std::sqrt(MeanCorrection(beta, step));
}

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_MOMENTS_H_
