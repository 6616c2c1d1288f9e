// What a job comes to on this machine: its tensors, sample counts, steps and
// instruction-set level.

#ifndef SELARI_CLI_RESOLVE_JOB_H_
#define SELARI_CLI_RESOLVE_JOB_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "selari/v1/job.pb.h"

namespace selari {

enum class DataPlace {
  // The workers are on this machine: the data is read, whatever the job states.
  kHere,
  // It is read only if the job does not state feature_shape, class_count and
  // train_sample_count.
  kMaybeElsewhere,
};

// `job` has its defaults (FillJobDefaults) and is valid. Gives the run a new
// random job_id. INVALID_ARGUMENT and NOT_FOUND as PrepareRun.
absl::StatusOr<v1::ResolvedJob> ResolveJob(FileEnv& env, const v1::Job& job,
                                           absl::string_view base_dir,
                                           DataPlace place);

}  // namespace selari

#endif  // SELARI_CLI_RESOLVE_JOB_H_
