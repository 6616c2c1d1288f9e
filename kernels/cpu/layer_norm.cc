#include "kernels/layer_norm.h"

#include <cstdint>

#include "kernels/cpu/column_sum.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/vec.h"
#include "kernels/cpu/vector_math.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

int64_t WorkspaceFloats(int64_t dim) { return dim; }

void Forward(const LayerNormForwardArgs& args) {
  const int64_t dim = args.dim;
  const float count = static_cast<float>(dim);
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * dim;
    float* y = args.y + r * dim;
    const float mean = SumInLanes(dim, [&](int64_t j) { return x[j]; }) / count;
    const float variance = SumInLanes(dim,
                                      [&](int64_t j) {
                                        const float difference = x[j] - mean;
                                        return difference * difference;
                                      }) /
                           count;
    const float rstd = 1.0f / __builtin_sqrtf(variance + args.epsilon);
    args.mean[r] = mean;
    args.rstd[r] = rstd;
    SELARI_ELEMENTWISE
    for (int64_t j = 0; j < dim; ++j) {
      y[j] = ((x[j] - mean) * rstd) * args.gain[j] + args.bias[j];
    }
  }
}

// gain_grad and bias_grad, by strips of columns.
void ParameterGrads(const LayerNormBackwardArgs& args) {
  const int64_t dim = args.dim;
  for (int64_t col = 0; col < dim; col += ColumnSum::kColsMax) {
    const int64_t left = dim - col;
    const int64_t cols =
        left < ColumnSum::kColsMax ? left : ColumnSum::kColsMax;
    ColumnSum gain_sum(cols);
    ColumnSum bias_sum(cols);
    for (int64_t r = 0; r < args.rows; ++r) {
      const float* x = args.x + r * dim + col;
      const float* grad = args.output_grad + r * dim + col;
      const float mean = args.mean[r];
      const float rstd = args.rstd[r];
      float* __restrict product = args.workspace;
      for (int64_t j = 0; j < cols; ++j) {
        product[j] = grad[j] * ((x[j] - mean) * rstd);
      }
      gain_sum.AddRow(product);
      bias_sum.AddRow(grad);
    }
    gain_sum.Finish(args.gain_grad + col);
    bias_sum.Finish(args.bias_grad + col);
  }
}

void InputGrad(const LayerNormBackwardArgs& args) {
  const int64_t dim = args.dim;
  const float count = static_cast<float>(dim);
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* x = args.x + r * dim;
    const float* grad = args.output_grad + r * dim;
    float* out = args.input_grad + r * dim;
    const float mean = args.mean[r];
    const float rstd = args.rstd[r];
    const float mean_d =
        SumInLanes(dim, [&](int64_t j) { return grad[j] * args.gain[j]; }) /
        count;
    const float mean_dh =
        SumInLanes(dim,
                   [&](int64_t j) {
                     return (grad[j] * args.gain[j]) * ((x[j] - mean) * rstd);
                   }) /
        count;
    SELARI_ELEMENTWISE
    for (int64_t j = 0; j < dim; ++j) {
      const float h = (x[j] - mean) * rstd;
      out[j] = rstd * ((grad[j] * args.gain[j] - mean_d) - h * mean_dh);
    }
  }
}

void Backward(const LayerNormBackwardArgs& args) {
  ParameterGrads(args);  // first: input_grad may overwrite output_grad
  if (args.input_grad != nullptr) {
    InputGrad(args);
  }
}

}  // namespace

LayerNormKernels MakeLayerNormKernels() {
  return {&WorkspaceFloats, &Forward, &Backward};
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
