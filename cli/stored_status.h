// The status of a job as the coordinator left it in a run's output folder: what
// it says, how old it is, and whether anybody still runs the job.
//
// Thread safety: no state.

#ifndef SELARI_CLI_STORED_STATUS_H_
#define SELARI_CLI_STORED_STATUS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/file_env.h"
#include "common/file_lock.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

// A coordinator that lives writes at least every
// Coordinator::kStatusIntervalMs; one that has not for so long is in trouble.
constexpr int64_t kStoredStatusOldMs = 30'000;

struct StoredStatus {
  // Of an abandoned job `checkpoint` is the newest on the disk, which may be
  // newer than the rest.
  v1::JobStatus status;
  // Of the folder, looked at before the status was read.
  FileLock::Holder holder;
};

bool HasEnded(v1::JobState state);

// `output_dir` is the run's folder, on this machine's disk. NOT_FOUND when no
// coordinator wrote there, DATA_LOSS when what it wrote is damaged.
absl::StatusOr<StoredStatus> ReadStoredStatus(FileEnv& env,
                                              const std::string& output_dir);

// One sentence: when the status was written, and by whom the job is run.
std::string DescribeAge(const StoredStatus& stored, int64_t wall_time_ms);

}  // namespace selari

#endif  // SELARI_CLI_STORED_STATUS_H_
