// Clipping of a whole gradient that one process holds: what a worker does to
// its own push in CONSISTENCY_BOUNDED and CONSISTENCY_ASYNC, where no sums over
// all shards exist. In CONSISTENCY_SYNC the shards clip the reduced gradient.

#ifndef SELARI_KERNELS_OPTIMIZER_CLIP_GRADIENT_H_
#define SELARI_KERNELS_OPTIMIZER_CLIP_GRADIENT_H_

#include "absl/types/span.h"
#include "kernels/optimizer/optimizer_kernels.h"

namespace selari {

// Cuts each element to [-clip_value, clip_value], then scales all of them by
// GlobalNormScale of what is left; 0 switches either off. In place; `tensors`
// is the whole gradient and the order in which its squares are added. A shard
// that cuts by the same clip_value again changes nothing. Thread-safe on
// different gradients.
void ClipGradient(const OptimizerKernels& kernels, double clip_value,
                  double clip_global_norm,
                  absl::Span<const absl::Span<float>> tensors);

}  // namespace selari

#endif  // SELARI_KERNELS_OPTIMIZER_CLIP_GRADIENT_H_
