#include "cli/write_out.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "cli/exit_code.h"

namespace selari {

absl::Status WriteOut(absl::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  if (error == EPIPE) {
    signal(SIGPIPE, SIG_DFL);
    raise(SIGPIPE);
    _exit(kExitSignal + SIGPIPE);  // It is blocked.
  }
  return absl::InternalError(
      absl::StrCat("cannot write to standard output: ", strerror(error)));
}

}  // namespace selari
