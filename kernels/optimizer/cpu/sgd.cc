#include <cstdint>

#include "kernels/optimizer/cpu/update_loops.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

void Sgd(const SgdTerms& terms, const UpdateArrays& arrays) {
  const SgdTerms t = terms;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  float* __restrict next_weights = arrays.next_weights;
  for (std::int64_t i = 0; i < arrays.n; ++i) {
    const float g = UsedGradient(t.gradient, grad[i], weights[i]);
    next_weights[i] = weights[i] - t.learning_rate * g;
  }
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
