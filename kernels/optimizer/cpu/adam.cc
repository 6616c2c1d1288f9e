#include <cstdint>

#include "kernels/optimizer/cpu/update_loops.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

void Adam(const AdamTerms& terms, const UpdateArrays& arrays) {
  const AdamTerms t = terms;
  const MomentTerms b = terms.moments;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  float* __restrict means = arrays.slots[0];
  float* __restrict squares = arrays.slots[1];
  float* __restrict next_weights = arrays.next_weights;
  const std::int64_t n = arrays.n;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = UsedGradient(t.gradient, grad[i], weights[i]);
    const float m = b.beta1 * means[i] + b.one_minus_beta1 * g;
    const float v = b.beta2 * squares[i] + b.one_minus_beta2 * (g * g);
    means[i] = m;
    squares[i] = v;
    const float root = SquareRoot(v) * t.root_correction + t.epsilon;
    next_weights[i] =
        weights[i] - (t.decay_rate * weights[i] + t.step_size * (m / root));
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
