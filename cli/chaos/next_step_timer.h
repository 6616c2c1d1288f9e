// NextStepTimer: how long after a fault a job's next step comes, seen from
// outside: the step that a job tells lags behind by up to kLagSeconds, and goes
// back when the job goes back to a checkpoint.
//
// Exact to about kLagSeconds. Not thread-safe.

#ifndef SELARI_CLI_CHAOS_NEXT_STEP_TIMER_H_
#define SELARI_CLI_CHAOS_NEXT_STEP_TIMER_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace selari {

class NextStepTimer {
 public:
  // Workers report every 0.2 s.
  static constexpr double kLagSeconds = 0.3;

  // Seconds are of one clock that never goes back.
  void OnFault(double now);
  // The job is at `step`. The seconds from each fault until now that waited for
  // a step, in order; none as long as none came.
  std::vector<double> OnStep(double now, int64_t step);
  // Faults whose next step has not come.
  bool waits() const { return !faults_.empty(); }

 private:
  std::vector<double> faults_;  // when they were, since the last step
  std::optional<int64_t> least_;
};

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_NEXT_STEP_TIMER_H_
