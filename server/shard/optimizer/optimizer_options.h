// How weights are updated, as plain values: what server code uses. Made from
// the job file by optimizer_options_from_job.h.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_OPTIONS_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_OPTIONS_H_

#include <cstdint>
#include <variant>

#include "absl/status/status.h"

namespace selari {

struct SgdOptions {
  // In [0, 1). Above 0 the optimizer keeps a velocity for each weight.
  double momentum = 0;
  // True looks ahead as Nesterov does; needs momentum > 0.
  bool nesterov = false;
};

struct AdagradOptions {
  // First value of the sum of squares, in [0, 1e6].
  double initial_accumulator = 0;
  // Added to the root, in [1e-30, 1].
  double epsilon = 1e-10;
};

struct RmsPropOptions {
  // Decay of the mean of squares, in [0, 1).
  double alpha = 0.99;
  // Added to the root, in [1e-30, 1].
  double epsilon = 1e-8;
  // In [0, 1). Above 0 the optimizer keeps a velocity for each weight.
  double momentum = 0;
};

struct AdamOptions {
  // Decay of the first moment, in [0, 1).
  double beta1 = 0.9;
  // Decay of the second moment, in [0, 1).
  double beta2 = 0.999;
  // Added to the root, in [1e-30, 1].
  double epsilon = 1e-8;
};

// Adam with decoupled weight decay.
struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};

struct LambOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
};

struct ConstantScheduleOptions {};

struct StepScheduleOptions {
  // Interval in updates, >= 1.
  int64_t every_steps = 1;
  // What the rate is multiplied by, in (0, 1].
  double factor = 1;
};

struct CosineScheduleOptions {
  // Updates until final_factor is reached, >= 1.
  int64_t total_steps = 1;
  // In [0, 1].
  double final_factor = 0;
};

struct PolynomialScheduleOptions {
  // Updates until final_factor is reached, >= 1.
  int64_t total_steps = 1;
  // In (0, 100].
  double power = 1;
  // In [0, 1].
  double final_factor = 0;
};

struct ScheduleOptions {
  // Updates over which the factor first rises linearly from 1 / warmup_steps
  // to 1, >= 0. The kind below starts after it.
  int64_t warmup_steps = 0;
  std::variant<ConstantScheduleOptions, StepScheduleOptions,
               CosineScheduleOptions, PolynomialScheduleOptions>
      kind;
};

struct OptimizerOptions {
  std::variant<SgdOptions, AdagradOptions, RmsPropOptions, AdamOptions,
               AdamWOptions, LambOptions>
      algorithm;
  // Base learning rate, in (0, 1e6].
  double learning_rate = 0;
  ScheduleOptions schedule;
  // In [0, 1e6]: added to the gradient as weight_decay * w, except in AdamW and
  // LAMB, which decouple it.
  double weight_decay = 0;
  // Each gradient element is cut to [-clip_value, clip_value], in [0, 1e30].
  // 0: not cut.
  double clip_value = 0;
  // The whole gradient is scaled down to this Euclidean norm, after
  // clip_value, in [0, 1e30]. 0: not scaled. Also 0 where workers clip their
  // own pushes (BOUNDED, ASYNC).
  double clip_global_norm = 0;
};

// OK, or INVALID_ARGUMENT naming the first field that is out of range as the
// job file spells it, its value and the allowed range.
absl::Status ValidateOptimizerOptions(const OptimizerOptions& options);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_OPTIONS_H_
