// ThisProgram: the binary that runs, to start another of it.

#ifndef SELARI_CLI_THIS_PROGRAM_H_
#define SELARI_CLI_THIS_PROGRAM_H_

#include <string>

#include "absl/status/statusor.h"

namespace selari {

// Its path. INTERNAL without /proc. Thread-safe.
absl::StatusOr<std::string> ThisProgram();

}  // namespace selari

#endif  // SELARI_CLI_THIS_PROGRAM_H_
