// What a job goes on from.

#ifndef SELARI_SERVER_COORDINATOR_RESUME_H_
#define SELARI_SERVER_COORDINATOR_RESUME_H_

#include <functional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "selari/v1/job.pb.h"
#include "server/coordinator/checkpoint_store.h"

namespace selari {

// The checkpoint in the folder `checkpoint`, if `job` can go on from it.
// NOT_FOUND or DATA_LOSS as LoadManifest,
// FAILED_PRECONDITION when it is of another model, as CheckCanGoOn. `log` is
// told of differences that change results. Reads the manifest only.
absl::StatusOr<PublishedCheckpoint> CheckResume(
    FileEnv& env, const v1::ResolvedJob& job, absl::string_view checkpoint,
    const std::function<void(absl::string_view)>& log);

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_RESUME_H_
