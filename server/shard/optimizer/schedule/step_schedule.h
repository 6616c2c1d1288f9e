// factor^floor(t / every_steps), as PyTorch's StepLR.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_STEP_SCHEDULE_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_STEP_SCHEDULE_H_

#include <cstdint>

#include "common/portable_math.h"
#include "server/shard/optimizer/optimizer_options.h"
#include "server/shard/optimizer/schedule/schedule.h"

namespace selari {

class StepSchedule final : public Schedule {
 public:
  explicit StepSchedule(const StepScheduleOptions& options)
      : options_(options) {}

  double Factor(int64_t updates_done) const override {
    return PowInt(options_.factor, updates_done / options_.every_steps);
  }

 private:
  const StepScheduleOptions options_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_STEP_SCHEDULE_H_
