#include "common/job_reduction.h"

namespace selari {

bool IsSync(const v1::Job& job) {
  const v1::Consistency mode = job.consistency().mode();
  return mode == v1::CONSISTENCY_UNSPECIFIED || mode == v1::CONSISTENCY_SYNC;
}

std::vector<ReductionRound> ReductionRoundsOfJob(const v1::Job& job) {
  if (!IsSync(job)) {
    return {};
  }
  ReductionNeeds needs;
  needs.clips_global_norm = job.optimizer().clip_global_norm() > 0;
  needs.scales_by_tensor = job.optimizer().has_lamb();
  return ReductionRounds(needs);
}

}  // namespace selari
