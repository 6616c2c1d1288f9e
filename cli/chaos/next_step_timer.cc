#include "cli/chaos/next_step_timer.h"

#include <algorithm>

namespace selari {

void NextStepTimer::OnFault(double now) {
  faults_.push_back(now);
  least_.reset();
}

std::vector<double> NextStepTimer::OnStep(double now, int64_t step) {
  if (faults_.empty()) {
    return {};
  }
  // Steps done before the fault may be told until then.
  if (now < faults_.back() + kLagSeconds || !least_.has_value()) {
    least_ = step;
    return {};
  }
  least_ = std::min(*least_, step);
  if (step == *least_) {
    return {};
  }
  std::vector<double> seconds;
  for (const double fault : faults_) {
    seconds.push_back(now - fault);
  }
  faults_.clear();
  least_.reset();
  return seconds;
}

}  // namespace selari
