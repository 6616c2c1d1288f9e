#include "cli/stop_note.h"

#include "absl/strings/str_cat.h"
#include "common/job_compression.h"
#include "common/job_reduction.h"

namespace selari {

std::string StopNote(const v1::ResolvedJob& job) {
  // Between those steps workers hold a part of their gradients back, which no
  // server could save. Step 1 stands for any other.
  const bool waits = IsSync(job.job()) && !IsResetVersion(job, 1);
  return absl::StrCat(
      waits ? absl::StrCat(
                  "stopping with a checkpoint at the next step that is a "
                  "multiple of ",
                  job.job().compression().reset_every_steps(),
                  " (compression.reset_every_steps), or the last one")
            : "stopping after this step with a checkpoint",
      "; press Ctrl-C again to end at once without one");
}

}  // namespace selari
