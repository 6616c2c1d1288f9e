// A linear rise over the first warmup_steps updates, (t + 1) / warmup_steps,
// then another schedule that starts from its own beginning. PyTorch:
// SequentialLR of LinearLR(start_factor = 1 / warmup_steps,
// total_iters = warmup_steps - 1) and the other, milestone warmup_steps.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_WARM_UP_SCHEDULE_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_WARM_UP_SCHEDULE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "server/shard/optimizer/schedule/schedule.h"

namespace selari {

class WarmUpSchedule final : public Schedule {
 public:
  // warmup_steps >= 1.
  WarmUpSchedule(int64_t warmup_steps, std::unique_ptr<const Schedule> next)
      : warmup_steps_(warmup_steps), next_(std::move(next)) {}

  double Factor(int64_t updates_done) const override {
    if (updates_done >= warmup_steps_) {
      return next_->Factor(updates_done - warmup_steps_);
    }
    return static_cast<double>(updates_done + 1) /
           static_cast<double>(warmup_steps_);
  }

 private:
  const int64_t warmup_steps_;
  const std::unique_ptr<const Schedule> next_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_WARM_UP_SCHEDULE_H_
