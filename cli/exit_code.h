// Exit codes of every command; README and --help state them.

#ifndef SELARI_CLI_EXIT_CODE_H_
#define SELARI_CLI_EXIT_CODE_H_

#include "absl/status/status.h"

namespace selari {

constexpr int kExitOk = 0;
constexpr int kExitFailed = 1;
// The command line, the job file or something else the user wrote, a file
// that it names and that is not there included.
constexpr int kExitUsage = 2;
// A member of the cluster is missing, was lost or did not answer in time.
constexpr int kExitMissing = 3;
// A checkpoint or other stored thing is damaged.
constexpr int kExitDataLoss = 4;
// Plus the signal's number.
constexpr int kExitSignal = 128;

inline int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return kExitUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return kExitMissing;
    case absl::StatusCode::kDataLoss:
      return kExitDataLoss;
    default:
      return kExitFailed;
  }
}

}  // namespace selari

#endif  // SELARI_CLI_EXIT_CODE_H_
