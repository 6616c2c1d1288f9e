#include <cstdint>

#include "kernels/optimizer/cpu/update_loops.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

void RmsProp(const RmsPropTerms& terms, const UpdateArrays& arrays) {
  const RmsPropTerms t = terms;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  float* __restrict means = arrays.slots[0];
  float* __restrict next_weights = arrays.next_weights;
  const std::int64_t n = arrays.n;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = UsedGradient(t.gradient, grad[i], weights[i]);
    const float s = t.alpha * means[i] + t.one_minus_alpha * (g * g);
    means[i] = s;
    next_weights[i] =
        weights[i] - t.learning_rate * (g / (SquareRoot(s) + t.epsilon));
  }
}

void RmsPropMomentum(const RmsPropTerms& terms, const UpdateArrays& arrays) {
  const RmsPropTerms t = terms;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  float* __restrict means = arrays.slots[0];
  float* __restrict velocity = arrays.slots[1];
  float* __restrict next_weights = arrays.next_weights;
  const std::int64_t n = arrays.n;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = UsedGradient(t.gradient, grad[i], weights[i]);
    const float s = t.alpha * means[i] + t.one_minus_alpha * (g * g);
    means[i] = s;
    const float v = t.momentum * velocity[i] + g / (SquareRoot(s) + t.epsilon);
    velocity[i] = v;
    next_weights[i] = weights[i] - t.learning_rate * v;
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
