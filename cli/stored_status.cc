#include "cli/stored_status.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/human.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/file_metadata_store.h"

namespace selari {
namespace {

// Killed between a checkpoint and the word on it, the coordinator has left a
// newer one than it says.
absl::Status TakeNewestCheckpoint(FileEnv& env, const std::string& output_dir,
                                  v1::JobStatus* status) {
  SELARI_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                          ListCheckpoints(env, CheckpointsDir(output_dir)));
  const auto newest =
      std::find_if(checkpoints.rbegin(), checkpoints.rend(),
                   [](const CheckpointInfo& info) { return info.status.ok(); });
  if (newest != checkpoints.rend() &&
      newest->step > status->checkpoint_step()) {
    status->set_checkpoint(newest->path);
    status->set_checkpoint_step(newest->step);
    status->set_checkpoint_digest(newest->manifest.state_digest());
  }
  return absl::OkStatus();
}

}  // namespace

bool HasEnded(v1::JobState state) {
  return state == v1::JOB_STATE_DONE || state == v1::JOB_STATE_STOPPED ||
         state == v1::JOB_STATE_FAILED;
}

absl::StatusOr<StoredStatus> ReadStoredStatus(FileEnv& env,
                                              const std::string& output_dir) {
  const std::string folder = JoinPath(output_dir, "coordinator");
  StoredStatus stored;
  // First: whoever lets go of the folder has written the end before.
  SELARI_ASSIGN_OR_RETURN(stored.holder,
                          FileLock::Find(JoinPath(folder, "LOCK")));
  const absl::StatusOr<MetadataValue> value =
      FileMetadataStore::ReadOnly(&env, folder, Coordinator::kStatusKey);
  if (absl::IsNotFound(value.status())) {
    return absl::NotFoundError(
        absl::StrCat(output_dir, " holds no run: ", folder,
                     " has no status of a coordinator; name the --output of "
                     "a run"));
  }
  SELARI_RETURN_IF_ERROR(value.status());
  if (!stored.status.ParseFromString(value->bytes)) {
    return absl::DataLossError(
        absl::StrCat("the status in ", folder, " cannot be read"));
  }
  if (!HasEnded(stored.status.state()) && !stored.holder.held) {
    stored.status.set_abandoned(true);
    SELARI_RETURN_IF_ERROR(
        TakeNewestCheckpoint(env, output_dir, &stored.status));
  }
  return stored;
}

std::string DescribeAge(const StoredStatus& stored, int64_t wall_time_ms) {
  const v1::JobStatus& status = stored.status;
  // Clocks of two machines may differ a little.
  const int64_t age_ms =
      std::max<int64_t>(0, wall_time_ms - status.written_time_ms());
  const std::string ago =
      status.written_time_ms() == 0
          ? "at an unknown time"
          : absl::StrCat(HumanSeconds(static_cast<double>(age_ms) * 1e-3),
                         " ago");
  const std::string process =
      stored.holder.process.empty()
          ? "a process"
          : absl::StrCat("process ", stored.holder.process);
  if (HasEnded(status.state())) {
    return absl::StrCat("ended ", ago);
  }
  if (status.abandoned()) {
    return absl::StrCat(
        "last heard of ", ago,
        "; no process holds this run any more: it was killed, or its machine "
        "went down; ",
        status.checkpoint().empty()
            ? "there is no checkpoint to go on from"
            : absl::StrCat("--resume goes on from step ",
                           status.checkpoint_step()));
  }
  if (age_ms > kStoredStatusOldMs) {
    return absl::StrCat("last heard of ", ago, ", though ", process,
                        " holds this run and should write every ",
                        Coordinator::kStatusIntervalMs / 1000,
                        " s: it hangs, or its disk is full");
  }
  return absl::StrCat("written ", ago, "; ", process, " runs it");
}

}  // namespace selari
