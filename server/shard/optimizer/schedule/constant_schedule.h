// The base learning rate throughout.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_CONSTANT_SCHEDULE_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_CONSTANT_SCHEDULE_H_

#include <cstdint>

#include "server/shard/optimizer/schedule/schedule.h"

namespace selari {

class ConstantSchedule final : public Schedule {
 public:
  double Factor(int64_t) const override { return 1; }
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_CONSTANT_SCHEDULE_H_
