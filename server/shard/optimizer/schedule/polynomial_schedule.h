// A power of the way that is left, constant after total_steps:
//   final + (1 - final) * (1 - t / total_steps)^power
// With final_factor 0 this is PyTorch's PolynomialLR.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_POLYNOMIAL_SCHEDULE_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_POLYNOMIAL_SCHEDULE_H_

#include <algorithm>
#include <cstdint>

#include "common/portable_math.h"
#include "server/shard/optimizer/optimizer_options.h"
#include "server/shard/optimizer/schedule/schedule.h"

namespace selari {

class PolynomialSchedule final : public Schedule {
 public:
  explicit PolynomialSchedule(const PolynomialScheduleOptions& options)
      : options_(options) {}

  double Factor(int64_t updates_done) const override {
    const int64_t left =
        options_.total_steps - std::min(updates_done, options_.total_steps);
    const double share =
        static_cast<double>(left) / static_cast<double>(options_.total_steps);
    return options_.final_factor +
           (1 - options_.final_factor) * Pow(share, options_.power);
  }

 private:
  const PolynomialScheduleOptions options_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_POLYNOMIAL_SCHEDULE_H_
