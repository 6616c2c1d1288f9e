// `selari export`.

#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/find_checkpoint.h"
#include "cli/human.h"
#include "cli/print_error.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/export.h"

namespace selari {
namespace {

absl::Status Export(const ExportCommand& command) {
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
