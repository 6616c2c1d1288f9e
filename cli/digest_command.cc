// `selari digest`.

#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/find_checkpoint.h"
#include "cli/print_error.h"
#include "cli/write_out.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/state_digest.h"

namespace selari {
namespace {

// Computed from the bytes, never copied from the manifest.
absl::Status Digest(const std::string& path) {
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const std::string dir, FindCheckpoint(env, path));
  SELARI_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(env, dir));
  SELARI_ASSIGN_OR_RETURN(const std::string digest, StateDigest(*reader));
  SELARI_RETURN_IF_ERROR(WriteOut(digest + "\n"));
  // Not on standard output, which is the digest alone.
  PrintNote(absl::StrCat("step ", reader->manifest().step(), ", ", dir));
  return absl::OkStatus();
}

}  // namespace

int RunDigestCommand(const DigestCommand& command) {
  const absl::Status status = Digest(command.path);
  if (!status.ok()) {
    PrintError(status);
  }
  return ExitCodeOf(status);
}

}  // namespace selari
