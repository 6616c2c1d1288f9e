// `selari digest`.

#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/find_checkpoint.h"
#include "cli/print_error.h"
#include "common/posix_file_env.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/state_digest.h"

namespace selari {
namespace {

// Computed from the bytes, never copied from the manifest.
absl::StatusOr<std::string> Digest(const std::string& path) {
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const std::string dir, FindCheckpoint(env, path));
  SELARI_ASSIGN_OR_RETURN(const auto reader, CheckpointReader::Open(env, dir));
  return StateDigest(*reader);
}

}  // namespace

int RunDigestCommand(const DigestCommand& command) {
  const absl::StatusOr<std::string> digest = Digest(command.path);
  if (!digest.ok()) {
    PrintError(digest.status());
    return ExitCodeOf(digest.status());
  }
  std::puts(digest->c_str());
  return kExitOk;
}

}  // namespace selari
