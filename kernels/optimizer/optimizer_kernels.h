// The arithmetic of the optimizers: element-wise loops that read the published
// weights and write the next version of them, in one pass over memory.
//
// Arrays. `n` floats each, in host memory, at any float address, the gradient
// at any address at all; n >= 0. A pointer may be null when n is 0. `slots` is
// state that the kernel reads and overwrites; a kernel that needs fewer slots
// ignores the others. `next_weights` and the slots overlap no other array.
//
// Bits. Each output element is a function of the elements at its own place
// and of the terms alone, made of correctly rounded float operations in the
// order written here. So it does not depend on how a tensor is cut, on
// alignment or on the instruction-set level. The sums are added in blocked
// order (16 lanes, then pairwise), hence depend on how a tensor is cut, and on
// nothing else.
//
// NaN and infinity pass through as IEEE 754 says; nothing is checked (see
// all_finite). Safe from any thread on different outputs.
//
// `reference/optimizer_reference.h` has the same loops to be read. This header
// is compiled for several instruction sets and defines no function; the choice
// between them is in choose_optimizer_kernels.h.

#ifndef SELARI_KERNELS_OPTIMIZER_OPTIMIZER_KERNELS_H_
#define SELARI_KERNELS_OPTIMIZER_OPTIMIZER_KERNELS_H_

#include <cstdint>

#include "common/unaligned_float.h"

namespace selari {

// Most floats of state that an optimizer keeps for each weight.
constexpr int kSlotCountMax = 2;

// One chunk, or any part of one: (n) each.
struct UpdateArrays {
  std::int64_t n = 0;
  const float* weights = nullptr;
  const UnalignedFloat* grad = nullptr;
  float* slots[kSlotCountMax] = {};
  float* next_weights = nullptr;
};

// How the gradient that arrives becomes the one that is used:
//   g = min(max(grad, -clip_value), clip_value) * scale + coupled_decay * w
struct GradientTerms {
  float clip_value;     // >= 0, infinity: not cut
  float scale;          // >= 0, 1: not scaled
  float coupled_decay;  // >= 0, L2 regularisation
};

// w' = w - learning_rate * g
struct SgdTerms {
  GradientTerms gradient;
  float learning_rate;
};

// v' = momentum * v + g                      v is slot 0
// heavy ball:  w' = w - learning_rate * v'
// Nesterov:    w' = w - learning_rate * (g + momentum * v')
struct MomentumTerms {
  GradientTerms gradient;
  float learning_rate;
  float momentum;
};

// s' = s + g * g                             s is slot 0
// w' = w - learning_rate * (g / (sqrt(s') + epsilon))
struct AdagradTerms {
  GradientTerms gradient;
  float learning_rate;
  float epsilon;
};

// s' = alpha * s + one_minus_alpha * (g * g) s is slot 0
// d  = g / (sqrt(s') + epsilon)
// plain:         w' = w - learning_rate * d
// with momentum: v' = momentum * v + d       v is slot 1
//                w' = w - learning_rate * v'
struct RmsPropTerms {
  GradientTerms gradient;
  float learning_rate;
  float alpha;
  float one_minus_alpha;
  float epsilon;
  float momentum;
};

// m' = beta1 * m + one_minus_beta1 * g       m is slot 0
// v' = beta2 * v + one_minus_beta2 * (g * g) v is slot 1
struct MomentTerms {
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
};

// w' = w - (decay_rate * w
//           + step_size * (m' / (sqrt(v') * root_correction + epsilon)))
struct AdamTerms {
  GradientTerms gradient;
  MomentTerms moments;
  float epsilon;
  float step_size;        // learning rate / (1 - beta1^step)
  float root_correction;  // 1 / sqrt(1 - beta2^step)
  float decay_rate;       // 0, or learning rate * decay in AdamW
};

// u  = (m' * mean_correction) / (sqrt(v') * root_correction + epsilon)
//      + decoupled_decay * w
// w' = w - step_size * u
struct LambTerms {
  GradientTerms gradient;
  MomentTerms moments;
  float epsilon;
  float mean_correction;  // 1 / (1 - beta1^step)
  float root_correction;  // 1 / sqrt(1 - beta2^step)
  float decoupled_decay;
  float step_size;  // learning rate * trust ratio; not used by lamb_sums
};

// The loops of one instruction-set level.
struct OptimizerKernels {
  void (*sgd)(const SgdTerms& terms, const UpdateArrays& arrays);
  void (*heavy_ball)(const MomentumTerms& terms, const UpdateArrays& arrays);
  void (*nesterov)(const MomentumTerms& terms, const UpdateArrays& arrays);
  void (*adagrad)(const AdagradTerms& terms, const UpdateArrays& arrays);
  void (*rms_prop)(const RmsPropTerms& terms, const UpdateArrays& arrays);
  void (*rms_prop_momentum)(const RmsPropTerms& terms,
                            const UpdateArrays& arrays);
  void (*adam)(const AdamTerms& terms, const UpdateArrays& arrays);
  void (*lamb)(const LambTerms& terms, const UpdateArrays& arrays);

  // sums (2): the sums of w^2 and of u^2, in double. Writes nothing else: the
  // moments are computed and dropped, so `slots` are only read.
  void (*lamb_sums)(const LambTerms& terms, const UpdateArrays& arrays,
                    double* sums);

  // The sum of min(max(grad, -clip_value), clip_value)^2, in double.
  double (*sum_of_squares)(float clip_value, const UnalignedFloat* grad,
                           std::int64_t n);

  // grad = min(max(grad, -clip_value), clip_value) * scale, in place.
  void (*clip_and_scale)(float clip_value, float scale, float* grad,
                         std::int64_t n);

  // True if no value is NaN or infinite. True for n = 0.
  bool (*all_finite)(const UnalignedFloat* values, std::int64_t n);
};

}  // namespace selari

#endif  // SELARI_KERNELS_OPTIMIZER_OPTIMIZER_KERNELS_H_
