// The rounds of sums that each update of a job needs: what its shards give and
// its clients add.

#ifndef SELARI_COMMON_JOB_REDUCTION_H_
#define SELARI_COMMON_JOB_REDUCTION_H_

#include <vector>

#include "common/reduction_round.h"
#include "selari/v1/job.pb.h"

namespace selari {

// True if workers wait for each other at every step (also the default).
bool IsSync(const v1::Job& job);

// In CONSISTENCY_SYNC, the rounds that clip_global_norm and LAMB ask for, in
// order. Otherwise none: there each worker scales its own push. Pure.
std::vector<ReductionRound> ReductionRoundsOfJob(const v1::Job& job);

}  // namespace selari

#endif  // SELARI_COMMON_JOB_REDUCTION_H_
