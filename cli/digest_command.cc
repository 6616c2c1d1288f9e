// `selari digest`.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
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
  SELARI_ASSIGN_OR_RETURN(std::string digest, StateDigest(*reader));
  // Not on standard output, which is the digest alone.
  PrintNote(absl::StrCat("step ", reader->manifest().step(), ", ", dir));
  return digest;
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
