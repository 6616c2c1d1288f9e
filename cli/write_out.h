// WriteOut: what a command prints as its result reaches its reader, or the
// command says that it does not.

#ifndef SELARI_CLI_WRITE_OUT_H_
#define SELARI_CLI_WRITE_OUT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace selari {

// Writes `text` to standard output, all of it. INTERNAL when that fails, as on
// a full disk. When the reader of a pipe is gone, ends the process quietly, by
// SIGPIPE, also where that is ignored for the sake of sockets.
absl::Status WriteOut(absl::string_view text);

}  // namespace selari

#endif  // SELARI_CLI_WRITE_OUT_H_
