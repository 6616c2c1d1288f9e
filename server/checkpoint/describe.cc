#include "server/checkpoint/describe.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/file_env.h"
#include "common/human.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_list.h"

namespace selari {
namespace {

// Enough to tell two digests apart; `verify` prints all of it.
constexpr std::size_t kShownDigits = 16;

}  // namespace

std::string DescribeCheckpoints(
    const std::vector<CheckpointInfo>& checkpoints) {
  std::string table =
      absl::StrFormat("%12s  %-20s %10s  %6s  %-16s  %s\n", "STEP",
                      "PUBLISHED (UTC)", "SIZE", "SHARDS", "DIGEST", "FOLDER");
  std::string problems;
  for (const CheckpointInfo& checkpoint : checkpoints) {
    if (!checkpoint.status.ok()) {
      absl::StrAppendFormat(&table, "%12d  %-20s %10s  %6s  %-16s  %s\n",
                            checkpoint.step, "damaged, see below", "-", "-",
                            "-", BaseName(checkpoint.path));
      absl::StrAppend(&problems, "step ", checkpoint.step, ": ",
                      checkpoint.status.message(), "\n");
      continue;
    }
    const v1::CheckpointManifest& manifest = checkpoint.manifest;
    const absl::Time time = absl::FromUnixMillis(manifest.publish_time_ms());
    absl::StrAppendFormat(
        &table, "%12d  %-20s %10s  %6d  %-16s  %s\n", checkpoint.step,
        absl::FormatTime("%Y-%m-%d %H:%M:%S", time, absl::UTCTimeZone()),
        HumanBytes(checkpoint.size_bytes), manifest.shards_size(),
        manifest.state_digest().substr(0, kShownDigits),
        BaseName(checkpoint.path));
  }
  return absl::StrCat(table, problems,
                      "Checked: manifests, headers and sizes of all files. "
                      "`selari checkpoint verify` reads all of one.\n");
}

std::string DescribeVerification(absl::string_view dir,
                                 const VerifyReport& report) {
  if (report.problems.empty()) {
    return absl::StrCat("\"", dir, "\" is whole: ", report.file_count,
                        " files, ", HumanBytes(report.size_bytes), ", digest ",
                        report.state_digest, ".\n");
  }
  std::string text;
  for (const std::string& problem : report.problems) {
    absl::StrAppend(&text, problem, "\n");
  }
  return text;
}

}  // namespace selari
