#include <cstdint>

#include "kernels/optimizer/cpu/update_loops.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

void HeavyBall(const MomentumTerms& terms, const UpdateArrays& arrays) {
  const MomentumTerms t = terms;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  float* __restrict velocity = arrays.slots[0];
  float* __restrict next_weights = arrays.next_weights;
  const std::int64_t n = arrays.n;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = UsedGradient(t.gradient, grad[i], weights[i]);
    const float v = t.momentum * velocity[i] + g;
    velocity[i] = v;
    next_weights[i] = weights[i] - t.learning_rate * v;
  }
}

void Nesterov(const MomentumTerms& terms, const UpdateArrays& arrays) {
  const MomentumTerms t = terms;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  float* __restrict velocity = arrays.slots[0];
  float* __restrict next_weights = arrays.next_weights;
  const std::int64_t n = arrays.n;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = UsedGradient(t.gradient, grad[i], weights[i]);
    const float v = t.momentum * velocity[i] + g;
    velocity[i] = v;
    next_weights[i] = weights[i] - t.learning_rate * (g + t.momentum * v);
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
