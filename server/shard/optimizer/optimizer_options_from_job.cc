#include "server/shard/optimizer/optimizer_options_from_job.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/job_reduction.h"
#include "common/status.h"

namespace selari {
namespace {

SgdOptions FromProto(const v1::Sgd& proto) {
  SgdOptions options;
  options.momentum = proto.momentum();
  options.nesterov = proto.nesterov();
  return options;
}

AdagradOptions FromProto(const v1::Adagrad& proto) {
  AdagradOptions options;
  options.initial_accumulator = proto.initial_accumulator();
  if (proto.has_epsilon()) {
    options.epsilon = proto.epsilon();
  }
  return options;
}

RmsPropOptions FromProto(const v1::RmsProp& proto) {
  RmsPropOptions options;
  if (proto.has_alpha()) {
    options.alpha = proto.alpha();
  }
  if (proto.has_epsilon()) {
    options.epsilon = proto.epsilon();
  }
  options.momentum = proto.momentum();
  return options;
}

// Adam, AdamW and LAMB have the same fields.
template <class Options, class Proto>
Options MomentsFromProto(const Proto& proto) {
  Options options;
  if (proto.has_beta1()) {
    options.beta1 = proto.beta1();
  }
  if (proto.has_beta2()) {
    options.beta2 = proto.beta2();
  }
  if (proto.has_epsilon()) {
    options.epsilon = proto.epsilon();
  }
  return options;
}

absl::Status SetAlgorithm(const v1::Optimizer& proto,
                          OptimizerOptions* options) {
  switch (proto.algorithm_case()) {
    case v1::Optimizer::kSgd:
      options->algorithm = FromProto(proto.sgd());
      return absl::OkStatus();
    case v1::Optimizer::kAdagrad:
      options->algorithm = FromProto(proto.adagrad());
      return absl::OkStatus();
    case v1::Optimizer::kRmsProp:
      options->algorithm = FromProto(proto.rms_prop());
      return absl::OkStatus();
    case v1::Optimizer::kAdam:
      options->algorithm = MomentsFromProto<AdamOptions>(proto.adam());
      return absl::OkStatus();
    case v1::Optimizer::kAdamW:
      options->algorithm = MomentsFromProto<AdamWOptions>(proto.adam_w());
      return absl::OkStatus();
    case v1::Optimizer::kLamb:
      options->algorithm = MomentsFromProto<LambOptions>(proto.lamb());
      return absl::OkStatus();
    case v1::Optimizer::ALGORITHM_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "optimizer has no algorithm, must have one of sgd, adagrad, rms_prop, "
      "adam, adam_w and lamb");
}

// The steps of a schedule that says 0 when it means the rest of the job.
absl::StatusOr<int64_t> ScheduleSteps(absl::string_view field, int64_t steps,
                                      int64_t warmup_steps,
                                      int64_t total_steps) {
  if (steps != 0) {
    return steps;
  }
  if (total_steps <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer.schedule.", field,
                     " is 0, which means the job's last step, but the job has "
                     "none: set it, or training.steps"));
  }
  if (warmup_steps >= total_steps) {
    return absl::InvalidArgumentError(
        absl::StrCat("optimizer.schedule.warmup_steps is ", warmup_steps,
                     ", must be below the job's ", total_steps, " steps"));
  }
  return total_steps - warmup_steps;
}

absl::StatusOr<ScheduleOptions> FromProto(const v1::LearningRateSchedule& proto,
                                          int64_t total_steps) {
  ScheduleOptions options;
  options.warmup_steps = proto.warmup_steps();
  if (proto.has_step()) {
    StepScheduleOptions step;
    step.every_steps = proto.step().every_steps();
    step.factor = proto.step().factor();
    options.kind = step;
  } else if (proto.has_cosine()) {
    CosineScheduleOptions cosine;
    SELARI_ASSIGN_OR_RETURN(
        cosine.total_steps,
        ScheduleSteps("cosine.total_steps", proto.cosine().total_steps(),
                      options.warmup_steps, total_steps));
    cosine.final_factor = proto.cosine().final_factor();
    options.kind = cosine;
  } else if (proto.has_polynomial()) {
    PolynomialScheduleOptions polynomial;
    SELARI_ASSIGN_OR_RETURN(polynomial.total_steps,
                            ScheduleSteps("polynomial.total_steps",
                                          proto.polynomial().total_steps(),
                                          options.warmup_steps, total_steps));
    if (proto.polynomial().has_power()) {
      polynomial.power = proto.polynomial().power();
    }
    polynomial.final_factor = proto.polynomial().final_factor();
    options.kind = polynomial;
  }
  return options;
}

}  // namespace

absl::StatusOr<OptimizerOptions> OptimizerOptionsFromJob(const v1::Job& job,
                                                         int64_t total_steps) {
  const v1::Optimizer& proto = job.optimizer();
  if (proto.has_lamb() && !IsSync(job)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "consistency.mode is ", v1::Consistency_Name(job.consistency().mode()),
        ", must be CONSISTENCY_SYNC with optimizer.lamb: its trust ratios need "
        "all shards at the same step"));
  }
  OptimizerOptions options;
  SELARI_RETURN_IF_ERROR(SetAlgorithm(proto, &options));
  options.learning_rate = proto.learning_rate();
  options.weight_decay = proto.weight_decay();
  options.clip_value = proto.clip_value();
  options.clip_global_norm = proto.clip_global_norm();
  SELARI_ASSIGN_OR_RETURN(options.schedule,
                          FromProto(proto.schedule(), total_steps));
  SELARI_RETURN_IF_ERROR(ValidateOptimizerOptions(options));
  if (!IsSync(job)) {
    options.clip_global_norm = 0;
  }
  return options;
}

}  // namespace selari
