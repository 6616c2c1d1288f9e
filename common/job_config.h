// The part of a job's configuration that needs no data and no model: its
// defaults, and what is impossible. Model and optimizer check themselves
// (worker/model, server/shard/optimizer).
//
// Thread safety: pure functions.

#ifndef SELARI_COMMON_JOB_CONFIG_H_
#define SELARI_COMMON_JOB_CONFIG_H_

#include <cstdint>

#include "absl/status/status.h"
#include "selari/v1/job.pb.h"

namespace selari {

// Writes the defaults that job.proto states into every field of training,
// consistency, cluster and checkpointing that is not set. Leaves
// worker_threads, server_threads and instruction_set at 0: each machine or the
// coordinator chooses. Idempotent.
void FillJobDefaults(v1::Job* job);

// INVALID_ARGUMENT names the field, its value and the range. REQUIRES:
// FillJobDefaults was called.
absl::Status ValidateJob(const v1::Job& job);

// The part of it that looks at each field of the cluster by itself.
absl::Status CheckClusterRanges(const v1::Cluster& cluster);

// Steps of a whole job: training.steps, or epochs of
// ceil(train_sample_count / batch_size) steps.
int64_t TotalSteps(const v1::Job& job, int64_t train_sample_count);

}  // namespace selari

#endif  // SELARI_COMMON_JOB_CONFIG_H_
