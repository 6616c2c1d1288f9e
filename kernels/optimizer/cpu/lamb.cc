#include <cstdint>

#include "kernels/optimizer/cpu/update_loops.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {
namespace {

// The direction u of the update from the new moments.
inline float Direction(const LambTerms& t, float mean, float square,
                       float weight) {
  const float root = SquareRoot(square) * t.root_correction + t.epsilon;
  return (mean * t.mean_correction) / root + t.decoupled_decay * weight;
}

inline float NewMean(const MomentTerms& b, float mean, float g) {
  return b.beta1 * mean + b.one_minus_beta1 * g;
}

inline float NewSquare(const MomentTerms& b, float square, float g) {
  return b.beta2 * square + b.one_minus_beta2 * (g * g);
}

}  // namespace

void Lamb(const LambTerms& terms, const UpdateArrays& arrays) {
  const LambTerms t = terms;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  float* __restrict means = arrays.slots[0];
  float* __restrict squares = arrays.slots[1];
  float* __restrict next_weights = arrays.next_weights;
  const std::int64_t n = arrays.n;
  for (std::int64_t i = 0; i < n; ++i) {
    const float g = UsedGradient(t.gradient, grad[i], weights[i]);
    const float m = NewMean(t.moments, means[i], g);
    const float v = NewSquare(t.moments, squares[i], g);
    means[i] = m;
    squares[i] = v;
    next_weights[i] = weights[i] - t.step_size * Direction(t, m, v, weights[i]);
  }
}

void LambSums(const LambTerms& terms, const UpdateArrays& arrays,
              double* sums) {
  const LambTerms t = terms;
  const float* __restrict weights = arrays.weights;
  const UnalignedFloat* __restrict grad = arrays.grad;
  const float* __restrict means = arrays.slots[0];
  const float* __restrict squares = arrays.slots[1];
  double weight_lanes[kSumLanes] = {};
  double direction_lanes[kSumLanes] = {};
  for (std::int64_t i = 0; i < arrays.n; i += kSumLanes) {
    const std::int64_t left = arrays.n - i;
    const int lanes = left < kSumLanes ? static_cast<int>(left) : kSumLanes;
    float directions[kSumLanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int64_t k = i + lane;
      const float g = UsedGradient(t.gradient, grad[k], weights[k]);
      directions[lane] =
          Direction(t, NewMean(t.moments, means[k], g),
                    NewSquare(t.moments, squares[k], g), weights[k]);
    }
    for (int lane = 0; lane < lanes; ++lane) {
      const double w = weights[i + lane];
      const double u = directions[lane];
      weight_lanes[lane] += w * w;
      direction_lanes[lane] += u * u;
    }
  }
  sums[0] = SumOfLanes(weight_lanes);
  sums[1] = SumOfLanes(direction_lanes);
}

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
