// `selari export`.

#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/find_checkpoint.h"
#include "cli/path_check.h"
#include "cli/print_error.h"
#include "cli/write_out.h"
#include "common/file_env.h"
#include "common/human.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/export.h"

namespace selari {
namespace {

// The finished file takes the place of what is at `path`: not of a device or
// a folder.
absl::Status CheckOutput(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status =
      std::filesystem::status(path, error);
  if (std::filesystem::exists(status) &&
      !std::filesystem::is_regular_file(status)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--output ", path, " is no regular file; name a file to be written"));
  }
  const std::string folder(DirName(path));
  return CheckFolder(
      absl::StrCat("the folder of --output ", path, ", ", folder, ","), folder,
      "name a file in a folder that is there");
}

constexpr absl::string_view kSafetensors = "safetensors";
constexpr absl::string_view kNpz = "npz";

// From the file's name unless the user says it; both must agree. A name that
// ends otherwise is more likely a slip than a wish for safetensors.
absl::StatusOr<ExportFormat> FormatOf(const ExportCommand& command) {
  absl::string_view named;
  for (const absl::string_view format : {kSafetensors, kNpz}) {
    if (absl::EndsWithIgnoreCase(command.output, absl::StrCat(".", format))) {
      named = format;
    }
  }
  const absl::string_view asked = command.format;
  if (asked.empty() && named.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--output ", command.output, " ends neither in .", kSafetensors,
        " nor in .", kNpz, "; let it end so, or say it with --format"));
  }
  if (!asked.empty() && !named.empty() && asked != named) {
    return absl::InvalidArgumentError(
        absl::StrCat("--format ", asked, " does not fit --output ",
                     command.output, "; leave out one or change the other"));
  }
  return asked == kNpz || named == kNpz ? ExportFormat::kNpz
                                        : ExportFormat::kSafetensors;
}

absl::Status Export(const ExportCommand& command) {
  SELARI_RETURN_IF_ERROR(CheckOutput(command.output));
  ExportOptions options;
  SELARI_ASSIGN_OR_RETURN(options.format, FormatOf(command));
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const std::string dir,
                          FindCheckpoint(env, command.path));
  SELARI_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(env, dir));
  options.include_slots = command.slots;
  SELARI_ASSIGN_OR_RETURN(
      const WrittenFile written,
      ExportCheckpoint(env, *reader, command.output, options));
  SELARI_RETURN_IF_ERROR(WriteOut(absl::StrCat(
      command.output, ": ", reader->manifest().job().tensors_size(),
      " tensors of step ", reader->manifest().step(), ", ",
      HumanBytes(written.size_bytes), "\n")));
  const v1::ResolvedJob& job = reader->manifest().job();
  if (job.job().data().standardize() && job.feature_shift().empty()) {
    PrintNote(
        "the statistics of data.standardize are not in the checkpoint, so "
        "data/shift and data/scale are not in the file");
  }
  return absl::OkStatus();
}

}  // namespace

int RunExportCommand(const ExportCommand& command) {
  const absl::Status status = Export(command);
  if (!status.ok()) {
    PrintError(status);
  }
  return ExitCodeOf(status);
}

}  // namespace selari
