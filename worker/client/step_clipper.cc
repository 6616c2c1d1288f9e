#include "worker/client/step_clipper.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/global_norm.h"
#include "common/status.h"

namespace selari {
namespace {

float CutValue(float value, float limit) {
  return std::min(std::max(value, -limit), limit);
}

// In the order of the elements, in double: the same bits on any machine.
double SumOfSquares(const FloatBuffer& gradient, float limit) {
  double sum = 0;
  for (int64_t i = 0; i < gradient.size(); ++i) {
    const double value = CutValue(gradient.data()[i], limit);
    sum += value * value;
  }
  return sum;
}

}  // namespace

absl::StatusOr<std::vector<std::shared_ptr<const FloatBuffer>>>
StepClipper::Add(int64_t step, int32_t tensor,
                 std::shared_ptr<const FloatBuffer> gradient) {
  if (gradients_[tensor] != nullptr || (!empty() && step != step_)) {
    return absl::FailedPreconditionError(
        absl::StrCat("tensor ", tensor, " is pushed for step ", step,
                     " before every tensor was pushed once for step ", step_,
                     ", as clip_global_norm needs"));
  }
  step_ = step;
  gradients_[tensor] = std::move(gradient);
  std::vector<std::shared_ptr<const FloatBuffer>> clipped;
  if (++kept_count_ < gradients_.size()) {
    return clipped;
  }
  constexpr float kNoLimit = std::numeric_limits<float>::infinity();
  const float limit =
      clip_value_ > 0 ? static_cast<float>(clip_value_) : kNoLimit;
  double sum_of_squares = 0;
  for (const auto& kept : gradients_) {
    sum_of_squares += SumOfSquares(*kept, limit);
  }
  const auto scale =
      static_cast<float>(GlobalNormScale(sum_of_squares, clip_global_norm_));
  for (auto& kept : gradients_) {
    const auto result = FloatBuffer::Allocate(kept->size());
    for (int64_t i = 0; i < kept->size(); ++i) {
      result->data()[i] = CutValue(kept->data()[i], limit) * scale;
    }
    clipped.push_back(result);
    kept = nullptr;
  }
  kept_count_ = 0;
  return clipped;
}

}  // namespace selari
