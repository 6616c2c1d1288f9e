// How a command tells that it failed.

#ifndef SELARI_CLI_PRINT_ERROR_H_
#define SELARI_CLI_PRINT_ERROR_H_

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/printable.h"

namespace selari {

// One line on standard error, after whatever was printed before.
inline void PrintError(const absl::Status& status) {
  std::fflush(stdout);
  const std::string message = Printable(status.message());
  std::fprintf(stderr, "selari: error: %s\n", message.c_str());
}

// A sentence for people on standard error.
inline void PrintNote(absl::string_view note) {
  const std::string text = Printable(note);
  std::fprintf(stderr, "selari: %s\n", text.c_str());
}

}  // namespace selari

#endif  // SELARI_CLI_PRINT_ERROR_H_
