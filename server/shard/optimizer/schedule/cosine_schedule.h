// Half a cosine from 1 to final_factor over total_steps, constant afterwards:
//   final + (1 - final) * (1 + cos(pi * t / total_steps)) / 2
// PyTorch's CosineAnnealingLR is the same up to total_steps, then rises again.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_COSINE_SCHEDULE_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_COSINE_SCHEDULE_H_

#include <algorithm>
#include <cstdint>

#include "common/portable_math.h"
#include "server/shard/optimizer/optimizer_options.h"
#include "server/shard/optimizer/schedule/schedule.h"

namespace selari {

class CosineSchedule final : public Schedule {
 public:
  explicit CosineSchedule(const CosineScheduleOptions& options)
      : options_(options) {}

  double Factor(int64_t updates_done) const override {
    const double progress =
        static_cast<double>(std::min(updates_done, options_.total_steps)) /
        static_cast<double>(options_.total_steps);
    return options_.final_factor +
           (1 - options_.final_factor) * (1 + CosPi(progress)) / 2;
  }

 private:
  const CosineScheduleOptions options_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_COSINE_SCHEDULE_H_
