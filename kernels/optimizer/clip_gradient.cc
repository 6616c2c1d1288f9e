#include "kernels/optimizer/clip_gradient.h"

#include <cstdint>
#include <limits>

#include "common/global_norm.h"

namespace selari {

void ClipGradient(const OptimizerKernels& kernels, double clip_value,
                  double clip_global_norm,
                  absl::Span<const absl::Span<float>> tensors) {
  const float limit = clip_value > 0 ? static_cast<float>(clip_value)
                                     : std::numeric_limits<float>::infinity();
  double scale = 1;
  if (clip_global_norm > 0) {
    double sum = 0;
    for (const absl::Span<float> tensor : tensors) {
      sum += kernels.sum_of_squares(limit, tensor.data(),
                                    static_cast<int64_t>(tensor.size()));
    }
    scale = GlobalNormScale(sum, clip_global_norm);
  }
  for (const absl::Span<float> tensor : tensors) {
    kernels.clip_and_scale(limit, static_cast<float>(scale), tensor.data(),
                           static_cast<int64_t>(tensor.size()));
  }
}

}  // namespace selari
