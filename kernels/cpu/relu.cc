#include "kernels/relu.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/vec.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

void Forward(int64_t n, const float* x, float* y) {
  SELARI_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) {
    y[i] = ZeroUnlessPositive(x[i], x[i]);
  }
}

void Backward(int64_t n, const float* y, const float* output_grad,
              float* input_grad) {
  SELARI_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) {
    // Both loads before the choice, so that the loop needs no branch.
    const float selector = y[i];
    const float grad = output_grad[i];
    input_grad[i] = ZeroUnlessPositive(selector, grad);
  }
}

}  // namespace

ReluKernels MakeReluKernels() { return {&Forward, &Backward}; }

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
