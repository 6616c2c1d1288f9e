// Checks of folders that the user named, before anything is made, read or
// waited for. A message begins with `name`, which says what was typed, such as
// "--output run1", and ends with `advice`, such as "name a run's folder".
//
// INVALID_ARGUMENT when something else is in the way or the name is too long,
// NOT_FOUND as below, otherwise the code of FileError.
//
// Thread safety: no state.

#ifndef SELARI_CLI_PATH_CHECK_H_
#define SELARI_CLI_PATH_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace selari {

// The folder is there; NOT_FOUND when nothing is.
[[nodiscard]] absl::Status CheckFolder(absl::string_view name,
                                       const std::string& path,
                                       absl::string_view advice);

// The folder is there or could be made: what stands above it are folders.
[[nodiscard]] absl::Status CheckNewFolder(absl::string_view name,
                                          const std::string& path,
                                          absl::string_view advice);

}  // namespace selari

#endif  // SELARI_CLI_PATH_CHECK_H_
