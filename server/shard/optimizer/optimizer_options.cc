#include "server/shard/optimizer/optimizer_options.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr double kLearningRateMax = 1e6;
constexpr double kDecayMax = 1e6;
constexpr double kClipMax = 1e30;  // far inside the range of a float
constexpr double kAccumulatorMax = 1e6;
constexpr double kEpsilonMin = 1e-30;  // smaller ones would be 0 as a float
constexpr double kEpsilonMax = 1;
constexpr double kPowerMax = 100;

absl::Status OutOfRange(absl::string_view field, absl::string_view value,
                        absl::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat("optimizer.", field, " is ", value, ", must be ", range));
}

// NaN fails each of these: every comparison with it is false.

absl::Status CheckClosed(absl::string_view field, double value, double min,
                         double max) {
  if (value >= min && value <= max) {
    return absl::OkStatus();
  }
  return OutOfRange(field, absl::StrCat(value),
                    absl::StrCat("in [", min, ", ", max, "]"));
}

absl::Status CheckAboveZero(absl::string_view field, double value, double max) {
  if (value > 0 && value <= max) {
    return absl::OkStatus();
  }
  return OutOfRange(field, absl::StrCat(value),
                    absl::StrCat("in (0, ", max, "]"));
}

absl::Status CheckFraction(absl::string_view field, double value) {
  if (value >= 0 && value < 1) {
    return absl::OkStatus();
  }
  return OutOfRange(field, absl::StrCat(value), "in [0, 1)");
}

absl::Status CheckCount(absl::string_view field, int64_t value, int64_t min) {
  if (value >= min) {
    return absl::OkStatus();
  }
  return OutOfRange(field, absl::StrCat(value), absl::StrCat("at least ", min));
}

absl::Status Validate(const SgdOptions& options) {
  SELARI_RETURN_IF_ERROR(CheckFraction("sgd.momentum", options.momentum));
  if (options.nesterov && options.momentum == 0) {
    return absl::InvalidArgumentError(
        "optimizer.sgd.nesterov is true but optimizer.sgd.momentum is 0, must "
        "be in (0, 1)");
  }
  return absl::OkStatus();
}

absl::Status Validate(const AdagradOptions& options) {
  SELARI_RETURN_IF_ERROR(CheckClosed("adagrad.initial_accumulator",
                                     options.initial_accumulator, 0,
                                     kAccumulatorMax));
  return CheckClosed("adagrad.epsilon", options.epsilon, kEpsilonMin,
                     kEpsilonMax);
}

absl::Status Validate(const RmsPropOptions& options) {
  SELARI_RETURN_IF_ERROR(CheckFraction("rms_prop.alpha", options.alpha));
  SELARI_RETURN_IF_ERROR(CheckFraction("rms_prop.momentum", options.momentum));
  return CheckClosed("rms_prop.epsilon", options.epsilon, kEpsilonMin,
                     kEpsilonMax);
}

template <class MomentOptions>
absl::Status ValidateMoments(absl::string_view name,
                             const MomentOptions& options) {
  SELARI_RETURN_IF_ERROR(
      CheckFraction(absl::StrCat(name, ".beta1"), options.beta1));
  SELARI_RETURN_IF_ERROR(
      CheckFraction(absl::StrCat(name, ".beta2"), options.beta2));
  return CheckClosed(absl::StrCat(name, ".epsilon"), options.epsilon,
                     kEpsilonMin, kEpsilonMax);
}

absl::Status Validate(const AdamOptions& options) {
  return ValidateMoments("adam", options);
}

absl::Status Validate(const AdamWOptions& options) {
  return ValidateMoments("adam_w", options);
}

absl::Status Validate(const LambOptions& options) {
  return ValidateMoments("lamb", options);
}

absl::Status Validate(const ConstantScheduleOptions&) {
  return absl::OkStatus();
}

absl::Status Validate(const StepScheduleOptions& options) {
  SELARI_RETURN_IF_ERROR(
      CheckCount("schedule.step.every_steps", options.every_steps, 1));
  return CheckAboveZero("schedule.step.factor", options.factor, 1);
}

absl::Status Validate(const CosineScheduleOptions& options) {
  SELARI_RETURN_IF_ERROR(
      CheckCount("schedule.cosine.total_steps", options.total_steps, 1));
  return CheckClosed("schedule.cosine.final_factor", options.final_factor, 0,
                     1);
}

absl::Status Validate(const PolynomialScheduleOptions& options) {
  SELARI_RETURN_IF_ERROR(
      CheckCount("schedule.polynomial.total_steps", options.total_steps, 1));
  SELARI_RETURN_IF_ERROR(
      CheckAboveZero("schedule.polynomial.power", options.power, kPowerMax));
  return CheckClosed("schedule.polynomial.final_factor", options.final_factor,
                     0, 1);
}

constexpr auto kValidate = [](const auto& options) {
  return Validate(options);
};

}  // namespace

absl::Status ValidateOptimizerOptions(const OptimizerOptions& options) {
  SELARI_RETURN_IF_ERROR(
      CheckAboveZero("learning_rate", options.learning_rate, kLearningRateMax));
  SELARI_RETURN_IF_ERROR(
      CheckClosed("weight_decay", options.weight_decay, 0, kDecayMax));
  SELARI_RETURN_IF_ERROR(
      CheckClosed("clip_value", options.clip_value, 0, kClipMax));
  SELARI_RETURN_IF_ERROR(
      CheckClosed("clip_global_norm", options.clip_global_norm, 0, kClipMax));
  SELARI_RETURN_IF_ERROR(
      CheckCount("schedule.warmup_steps", options.schedule.warmup_steps, 0));
  SELARI_RETURN_IF_ERROR(std::visit(kValidate, options.schedule.kind));
  return std::visit(kValidate, options.algorithm);
}

}  // namespace selari
