// A factor on the learning rate as a function of the updates done so far.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_SCHEDULE_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_SCHEDULE_H_

#include <cstdint>

namespace selari {

// Pure and immutable: thread-safe.
class Schedule {
 public:
  virtual ~Schedule() = default;

  // The factor, in [0, 1], of the update that follows `updates_done` (>= 0)
  // others. Defined for every count: past its end a schedule keeps its last
  // value.
  virtual double Factor(int64_t updates_done) const = 0;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_SCHEDULE_SCHEDULE_H_
