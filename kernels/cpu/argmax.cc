#include "kernels/argmax.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

int32_t ArgmaxOf(int64_t dim, const float* x) {
  int32_t best = 0;
  for (int64_t j = 1; j < dim; ++j) {
    const bool best_is_nan = x[best] != x[best];
    if (!best_is_nan && !(x[j] <= x[best])) {
      best = static_cast<int32_t>(j);
    }
  }
  return best;
}

void Rows(int64_t rows, int64_t dim, const float* x, int32_t* index) {
  for (int64_t r = 0; r < rows; ++r) {
    index[r] = ArgmaxOf(dim, x + r * dim);
  }
}

int64_t CountCorrect(int64_t rows, int64_t dim, const float* x,
                     const int32_t* labels) {
  int64_t correct = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const int32_t best = ArgmaxOf(dim, x + r * dim);
    const float largest = x[r * dim + best];
    correct += best == labels[r] && largest == largest;
  }
  return correct;
}

int64_t CountCorrectBinary(int64_t rows, const float* logits,
                           const int32_t* labels) {
  int64_t correct = 0;
  for (int64_t r = 0; r < rows; ++r) {
    const bool is_number = logits[r] == logits[r];
    correct += is_number && (logits[r] > 0.0f) == (labels[r] == 1);
  }
  return correct;
}

}  // namespace

ArgmaxKernels MakeArgmaxKernels() {
  return {&Rows, &CountCorrect, &CountCorrectBinary};
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
