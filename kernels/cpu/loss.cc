#include "kernels/loss.h"

#include <cstdint>

#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/vec.h"
#include "kernels/cpu/vector_math.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

namespace {

// The largest element; NaN if any element is.
float MaxOf(int64_t n, const float* x) {
  float largest = x[0];
  for (int64_t j = 1; j < n; ++j) {
    largest = x[j] > largest || x[j] != x[j] ? x[j] : largest;
  }
  return largest;
}

// One row; `grad` may be `logits`, or null.
float SoftmaxRow(const SoftmaxCrossEntropyArgs& args, const float* logits,
                 int32_t label, float* grad) {
  const int64_t n = args.classes;
  const float largest = MaxOf(n, logits);
  const float at_label = logits[label] - largest;
  if (grad == nullptr) {
    const float sum =
        SumInLanes(n, [&](int64_t j) { return Exp(logits[j] - largest); });
    return Log(sum) - at_label;
  }
  SELARI_ELEMENTWISE
  for (int64_t j = 0; j < n; ++j) {
    grad[j] = Exp(logits[j] - largest);
  }
  const float sum = SumInLanes(n, [&](int64_t j) { return grad[j]; });
  const float factor = args.scale / sum;
  for (int64_t j = 0; j < n; ++j) {
    grad[j] *= factor;
  }
  grad[label] -= args.scale;
  return Log(sum) - at_label;
}

void SoftmaxCrossEntropy(const SoftmaxCrossEntropyArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    const int64_t at = r * args.classes;
    args.loss[r] = SoftmaxRow(args, args.logits + at, args.labels[r],
                              args.grad == nullptr ? nullptr : args.grad + at);
  }
}

void Logistic(const LogisticArgs& args) {
  for (int64_t r = 0; r < args.rows; ++r) {
    const float z = args.logits[r];
    const float label = static_cast<float>(args.labels[r]);
    const float e = Exp(z < 0.0f ? z : -z);  // e^−|z|
    const float probability = (z < 0.0f ? e : 1.0f) / (1.0f + e);
    args.loss[r] = ((z < 0.0f ? 0.0f : z) - z * label) + Log1p(e);
    if (args.grad != nullptr) {
      args.grad[r] = (probability - label) * args.scale;
    }
  }
}

void SquaredError(const SquaredErrorArgs& args) {
  const float dim = static_cast<float>(args.dim);
  const float factor = (2.0f / dim) * args.scale;
  for (int64_t r = 0; r < args.rows; ++r) {
    const float* predicted = args.predicted + r * args.dim;
    const float* target = args.target + r * args.dim;
    const float sum = SumInLanes(args.dim, [&](int64_t j) {
      const float difference = predicted[j] - target[j];
      return difference * difference;
    });
    args.loss[r] = sum / dim;
    if (args.grad != nullptr) {
      float* grad = args.grad + r * args.dim;
      SELARI_ELEMENTWISE
      for (int64_t j = 0; j < args.dim; ++j) {
        grad[j] = (predicted[j] - target[j]) * factor;
      }
    }
  }
}

double SumInOrder(int64_t n, const float* values) {
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += static_cast<double>(values[i]);
  }
  return sum;
}

}  // namespace

LossKernels MakeLossKernels() {
  return {&SoftmaxCrossEntropy, &Logistic, &SquaredError, &SumInOrder};
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
