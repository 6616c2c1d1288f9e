#include "kernels/elementary.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/vec.h"
#include "kernels/cpu/vector_math.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

void ExpAll(int64_t n, const float* x, float* y) {
  SELARI_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) {
    y[i] = Exp(x[i]);
  }
}

void LogAll(int64_t n, const float* x, float* y) {
  SELARI_ELEMENTWISE
  for (int64_t i = 0; i < n; ++i) {
    y[i] = Log(x[i]);
  }
}

}  // namespace

ElementaryKernels MakeElementaryKernels() { return {&ExpAll, &LogAll}; }

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
