#include "server/coordinator/resume.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/resume_rules.h"

namespace selari {

absl::StatusOr<PublishedCheckpoint> CheckResume(
    FileEnv& env, const v1::ResolvedJob& job, absl::string_view checkpoint,
    const std::function<void(absl::string_view)>& log) {
  SELARI_ASSIGN_OR_RETURN(const v1::CheckpointManifest manifest,
                          LoadManifest(env, checkpoint));
  SELARI_RETURN_IF_ERROR(
      Annotate(CheckCanGoOn(manifest.job(), job), checkpoint));
  for (const std::string& difference :
       DescribeJobDifferences(manifest.job(), job)) {
    log(absl::StrCat(
        "the job differs from the checkpoint's, so results will too: ",
        difference));
  }
  PublishedCheckpoint result;
  result.path = std::string(checkpoint);
  result.step = manifest.step();
  result.state_digest = manifest.state_digest();
  return result;
}

}  // namespace selari
