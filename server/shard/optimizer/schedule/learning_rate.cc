#include "server/shard/optimizer/schedule/learning_rate.h"

#include <utility>
#include <variant>

#include "common/check.h"
#include "common/status.h"
#include "server/shard/optimizer/schedule/constant_schedule.h"
#include "server/shard/optimizer/schedule/cosine_schedule.h"
#include "server/shard/optimizer/schedule/polynomial_schedule.h"
#include "server/shard/optimizer/schedule/step_schedule.h"
#include "server/shard/optimizer/schedule/warm_up_schedule.h"

namespace selari {
namespace {

std::unique_ptr<const Schedule> Make(const ConstantScheduleOptions&) {
  return std::make_unique<ConstantSchedule>();
}

std::unique_ptr<const Schedule> Make(const StepScheduleOptions& options) {
  return std::make_unique<StepSchedule>(options);
}

std::unique_ptr<const Schedule> Make(const CosineScheduleOptions& options) {
  return std::make_unique<CosineSchedule>(options);
}

std::unique_ptr<const Schedule> Make(const PolynomialScheduleOptions& options) {
  return std::make_unique<PolynomialSchedule>(options);
}

}  // namespace

LearningRate::LearningRate(double base,
                           std::unique_ptr<const Schedule> schedule)
    : base_(base), schedule_(std::move(schedule)) {}

absl::StatusOr<LearningRate> LearningRate::Create(
    const OptimizerOptions& options) {
  SELARI_RETURN_IF_ERROR(ValidateOptimizerOptions(options));
  std::unique_ptr<const Schedule> schedule = std::visit(
      [](const auto& kind) { return Make(kind); }, options.schedule.kind);
  if (options.schedule.warmup_steps > 0) {
    schedule = std::make_unique<WarmUpSchedule>(options.schedule.warmup_steps,
                                                std::move(schedule));
  }
  return LearningRate(options.learning_rate, std::move(schedule));
}

double LearningRate::At(int64_t step) const {
  SELARI_CHECK(step >= 1);
  return base_ * schedule_->Factor(step - 1);
}

}  // namespace selari
