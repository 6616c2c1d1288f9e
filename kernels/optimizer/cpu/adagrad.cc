#include <cstdint>

#include "kernels/optimizer/cpu/update_loops.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

void Adagrad(const AdagradTerms& terms, const UpdateArrays& arrays) {
  const AdagradTerms t = terms;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  float* __restrict sums = arrays.slots[0];
  float* __restrict next_weights = arrays.next_weights;
  const std::int64_t n = arrays.n;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = UsedGradient(t.gradient, grad[i], weights[i]);
    const float s = sums[i] + g * g;
    sums[i] = s;
    next_weights[i] =
        weights[i] - t.learning_rate * (g / (SquareRoot(s) + t.epsilon));
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
