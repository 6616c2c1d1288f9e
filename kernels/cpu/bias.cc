#include "kernels/bias.h"

#include <cstdint>

#include "kernels/cpu/column_sum.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/vec.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

void Add(int64_t rows, int64_t dim, const float* x, const float* bias,
         float* y) {
  for (int64_t r = 0; r < rows; ++r) {
    SELARI_ELEMENTWISE
    for (int64_t j = 0; j < dim; ++j) {
      y[r * dim + j] = x[r * dim + j] + bias[j];
    }
  }
}

void Grad(int64_t rows, int64_t dim, const float* output_grad,
          float* bias_grad) {
  for (int64_t col = 0; col < dim; col += ColumnSum::kColsMax) {
    const int64_t left = dim - col;
    const int64_t cols =
        left < ColumnSum::kColsMax ? left : ColumnSum::kColsMax;
    ColumnSum sum(cols);
    for (int64_t r = 0; r < rows; ++r) {
      sum.AddRow(output_grad + r * dim + col);
    }
    sum.Finish(bias_grad + col);
  }
}

}  // namespace

BiasKernels MakeBiasKernels() { return {&Add, &Grad}; }

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
