#include "server/checkpoint/checkpoint_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "server/checkpoint/checkpoint_path.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/state_digest.h"

namespace selari {
namespace {

int64_t SizeBytes(const v1::CheckpointManifest& manifest) {
  int64_t bytes = 0;
  for (const v1::ShardFile& file : manifest.shards()) {
    bytes += file.size_bytes();
  }
  return bytes;
}

void AddProblem(const absl::Status& problem, VerifyReport& report) {
  if (report.status.ok()) {
    report.status = problem;
  }
  report.problems.emplace_back(problem.message());
}

// Reads all of it, unless the list has found a fault already.
absl::Status FullStatus(FileEnv& env, const CheckpointInfo& info) {
  return info.status.ok() ? VerifyCheckpoint(env, info.path).status
                          : info.status;
}

}  // namespace

absl::StatusOr<std::vector<CheckpointInfo>> ListCheckpoints(
    FileEnv& env, absl::string_view checkpoints_dir) {
  std::vector<CheckpointInfo> checkpoints;
  const absl::StatusOr<std::vector<DirEntry>> entries =
      env.List(checkpoints_dir);
  if (absl::IsNotFound(entries.status())) {
    return checkpoints;
  }
  SELARI_RETURN_IF_ERROR(entries.status());
  for (const DirEntry& entry : *entries) {
    const std::optional<int64_t> step = ParseCheckpointName(entry.name);
    if (!step.has_value()) {
      continue;
    }
    CheckpointInfo info;
    info.path = JoinPath(checkpoints_dir, entry.name);
    info.step = *step;
    absl::StatusOr<std::unique_ptr<CheckpointReader>> reader =
        CheckpointReader::Open(env, info.path);
    info.status = reader.status();
    if (reader.ok()) {
      info.manifest = (*reader)->manifest();
      info.size_bytes = SizeBytes(info.manifest);
    }
    checkpoints.push_back(std::move(info));
  }
  // Names of more than nine digits do not sort as numbers.
  std::sort(checkpoints.begin(), checkpoints.end(),
            [](const CheckpointInfo& a, const CheckpointInfo& b) {
              return a.step < b.step;
            });
  return checkpoints;
}

absl::Status NoCheckpointError(absl::string_view checkpoints_dir) {
  return absl::NotFoundError(
      absl::StrCat("there is no checkpoint in \"", checkpoints_dir, "\""));
}

VerifyReport VerifyCheckpoint(FileEnv& env, absl::string_view dir) {
  VerifyReport report;
  const absl::StatusOr<std::unique_ptr<CheckpointReader>> opened =
      CheckpointReader::Open(env, dir);
  if (!opened.ok()) {
    AddProblem(opened.status(), report);
    return report;
  }
  CheckpointReader& reader = **opened;
  report.file_count = reader.manifest().shards_size();
  report.size_bytes = SizeBytes(reader.manifest());
  for (int32_t shard = 0; shard < report.file_count; ++shard) {
    if (const absl::Status status = reader.VerifyFile(shard); !status.ok()) {
      AddProblem(status, report);
    }
  }
  if (!report.problems.empty()) {
    return report;
  }
  absl::StatusOr<std::string> digest = StateDigest(reader);
  if (!digest.ok()) {
    AddProblem(digest.status(), report);
  } else if (*digest != reader.manifest().state_digest()) {
    AddProblem(absl::DataLossError(absl::StrCat(
                   "\"", dir, "\": the state's digest is ", *digest,
                   ", the manifest says ", reader.manifest().state_digest())),
               report);
  } else {
    report.state_digest = *std::move(digest);
  }
  return report;
}

absl::StatusOr<std::string> FindNewestCheckpoint(
    FileEnv& env, absl::string_view checkpoints_dir) {
  SELARI_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                          ListCheckpoints(env, checkpoints_dir));
  if (checkpoints.empty()) {
    return NoCheckpointError(checkpoints_dir);
  }
  const CheckpointInfo& newest = checkpoints.back();
  const absl::Status status = FullStatus(env, newest);
  if (status.ok()) {
    return newest.path;
  }
  const auto older =
      std::find_if(checkpoints.rbegin() + 1, checkpoints.rend(),
                   [](const CheckpointInfo& info) { return info.status.ok(); });
  const std::string message =
      absl::StrCat("the newest checkpoint, of step ", newest.step,
                   ", cannot be used: ", status.message(),
                   older == checkpoints.rend()
                       ? "; there is no older one"
                       : absl::StrCat("; to use that of step ", older->step,
                                      ", name ", older->path));
  // Whatever is in the place of a checkpoint and is none is damage.
  const bool damage =
      absl::IsNotFound(status) || absl::IsInvalidArgument(status);
  return absl::Status(damage ? absl::StatusCode::kDataLoss : status.code(),
                      message);
}

absl::StatusOr<LatestCheckpoint> FindLatestCheckpoint(
    FileEnv& env, absl::string_view checkpoints_dir) {
  SELARI_ASSIGN_OR_RETURN(const std::vector<CheckpointInfo> checkpoints,
                          ListCheckpoints(env, checkpoints_dir));
  if (checkpoints.empty()) {
    return NoCheckpointError(checkpoints_dir);
  }
  LatestCheckpoint latest;
  std::vector<absl::Status> damages;
  for (auto it = checkpoints.rbegin(); it != checkpoints.rend(); ++it) {
    absl::Status status = FullStatus(env, *it);
    if (!status.ok()) {
      damages.push_back(std::move(status));
      continue;
    }
    latest.path = it->path;
    latest.step = it->step;
    for (std::size_t i = 0; i < damages.size(); ++i) {
      latest.skipped.push_back(absl::StrCat(
          "goes on from step ", latest.step, ", not from step ",
          checkpoints[checkpoints.size() - 1 - i].step,
          ", whose checkpoint cannot be used: ", damages[i].message()));
    }
    return latest;
  }
  return absl::DataLossError(absl::StrCat(
      "none of the ", damages.size(), " checkpoints in \"", checkpoints_dir,
      "\" can be loaded; the newest: ", damages[0].message()));
}

}  // namespace selari
