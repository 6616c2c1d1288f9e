// The learning rate of each update of a job: base rate, schedule and warm-up.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_LEARNING_RATE_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_LEARNING_RATE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "server/shard/optimizer/optimizer_options.h"
#include "server/shard/optimizer/schedule/schedule.h"

namespace selari {

// Pure and immutable: thread-safe.
class LearningRate {
 public:
  // INVALID_ARGUMENT as ValidateOptimizerOptions.
  static absl::StatusOr<LearningRate> Create(const OptimizerOptions& options);

  // The rate of update `step`, counted from 1 (as ApplyContext::step):
  // base * Factor(step - 1). The same bits on every machine.
  double At(int64_t step) const;

 private:
  LearningRate(double base, std::unique_ptr<const Schedule> schedule);

  double base_;
  std::unique_ptr<const Schedule> schedule_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_LEARNING_RATE_H_
