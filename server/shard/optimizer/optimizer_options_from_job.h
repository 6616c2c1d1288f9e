// From the job file to OptimizerOptions.

#ifndef SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_OPTIONS_FROM_JOB_H_
#define SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_OPTIONS_FROM_JOB_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "selari/v1/job.pb.h"
#include "server/shard/optimizer/optimizer_options.h"

namespace selari {

// The options that `job.optimizer` describes, with the defaults of job.proto
// for what is not set. `total_steps` are the job's; 0: not known.
//
// Outside CONSISTENCY_SYNC clip_global_norm becomes 0, since there each worker
// scales its own push.
//
// INVALID_ARGUMENT, naming field, value and range: as
// ValidateOptimizerOptions; no algorithm; LAMB outside CONSISTENCY_SYNC; a
// schedule that lasts to the job's last step when that is not known or lies
// within the warm-up.
absl::StatusOr<OptimizerOptions> OptimizerOptionsFromJob(const v1::Job& job,
                                                         int64_t total_steps);

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_OPTIMIZER_OPTIMIZER_OPTIONS_FROM_JOB_H_
