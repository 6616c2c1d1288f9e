// What the loops of one instruction-set level share. Private to this folder.
//
// The loops are plain so that the compiler vectorises them: terms copied to
// locals (a store to a float array could change a float in a struct), arrays
// marked as not overlapping, no branch that depends on data.

#ifndef SELARI_KERNELS_OPTIMIZER_CPU_UPDATE_LOOPS_H_
#define SELARI_KERNELS_OPTIMIZER_CPU_UPDATE_LOOPS_H_

#include <cstdint>

#include "kernels/optimizer/optimizer_kernels.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

void Sgd(const SgdTerms& terms, const UpdateArrays& arrays);
void HeavyBall(const MomentumTerms& terms, const UpdateArrays& arrays);
void Nesterov(const MomentumTerms& terms, const UpdateArrays& arrays);
void Adagrad(const AdagradTerms& terms, const UpdateArrays& arrays);
void RmsProp(const RmsPropTerms& terms, const UpdateArrays& arrays);
void RmsPropMomentum(const RmsPropTerms& terms, const UpdateArrays& arrays);
void Adam(const AdamTerms& terms, const UpdateArrays& arrays);
void Lamb(const LambTerms& terms, const UpdateArrays& arrays);
void LambSums(const LambTerms& terms, const UpdateArrays& arrays, double* sums);
double SumOfSquares(float clip_value, const UnalignedFloat* grad,
                    std::int64_t n);
void ClipAndScale(float clip_value, float scale, float* grad, std::int64_t n);
bool AllFinite(const UnalignedFloat* values, std::int64_t n);

// NaN stays NaN: both comparisons are then false.
inline float Clip(float value, float limit) {
  const float above = value < -limit ? -limit : value;
  return above > limit ? limit : above;
}

inline float UsedGradient(const GradientTerms& terms, float grad,
                          float weight) {
  return Clip(grad, terms.clip_value) * terms.scale +
         terms.coupled_decay * weight;
}

// Correctly rounded on every level, and a vector instruction.
inline float SquareRoot(float value) { return __builtin_sqrtf(value); }

// Lanes of a sum: element i is added to lane i mod kSumLanes.
constexpr int kSumLanes = 16;

// Adds the lanes pairwise; changes them.
inline double SumOfLanes(double* lanes) {
  for (int width = kSumLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) {
      lanes[lane] += lanes[lane + width];
    }
  }
  return lanes[0];
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari

#endif  // SELARI_KERNELS_OPTIMIZER_CPU_UPDATE_LOOPS_H_
