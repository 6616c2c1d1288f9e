// `selari export`.

#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/find_checkpoint.h"
#include "cli/print_error.h"
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
  return absl::OkStatus();
}

absl::Status Export(const ExportCommand& command) {
  SELARI_RETURN_IF_ERROR(CheckOutput(command.output));
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const std::string dir,
                          FindCheckpoint(env, command.path));
  SELARI_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(env, dir));
  ExportOptions options;
  options.format =
      command.format == "npz" ? ExportFormat::kNpz : ExportFormat::kSafetensors;
  options.include_slots = command.slots;
  SELARI_ASSIGN_OR_RETURN(
      const WrittenFile written,
      ExportCheckpoint(env, *reader, command.output, options));
  std::printf("%s: %d tensors of step %lld, %s\n", command.output.c_str(),
              reader->manifest().job().tensors_size(),
              static_cast<long long>(reader->manifest().step()),
              HumanBytes(written.size_bytes).c_str());
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
