// Why something was refused, for programs: a reason rides on an absl::Status
// as the payloads google.rpc.ErrorInfo and google.rpc.RetryInfo, and across
// gRPC as the status details that every gRPC client can read
// (common/grpc_status.h).
//
//   return WithReason(absl::FailedPreconditionError("job is x, not y"),
//                     ErrorReason::kWrongJob);
//   if (ReasonOf(status) == ErrorReason::kQueueFull) ...
//
// Pure functions: safe from any thread.

#ifndef SELARI_COMMON_ERROR_REASON_H_
#define SELARI_COMMON_ERROR_REASON_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace selari {

// Mirrors selari.v1.ErrorReason, number by number.
enum class ErrorReason : int32_t {
  kUnspecified = 0,
  kWrongJob = 1,
  kWrongShard = 2,
  kStaleIncarnation = 3,
  kNotInitialized = 4,
  kShapeMismatch = 5,
  kNotFinite = 6,
  kSequenceGap = 7,
  kQueueFull = 8,
  kJobStopped = 9,
  kStepTooFar = 10,
  kShardFailed = 11,
  kDuplicateId = 12,
  kInstructionSet = 13,
};

// ErrorInfo.reason: "WRONG_JOB" and so on; "UNSPECIFIED" for a number that is
// none of them.
absl::string_view ReasonName(ErrorReason reason);
// kUnspecified for a name or number that is none of them.
ErrorReason ReasonFromName(absl::string_view name);
ErrorReason ReasonFromNumber(int32_t number);

// `status` with the reason and, when retry_after_ms > 0, when to try again.
// OK stays as it is.
absl::Status WithReason(absl::Status status, ErrorReason reason,
                        int32_t retry_after_ms = 0);

// kUnspecified when there is none, or one of another domain.
ErrorReason ReasonOf(const absl::Status& status);
// In [0, 86400000]; 0 when the status does not say.
int32_t RetryAfterMs(const absl::Status& status);

// One pair of ErrorInfo.metadata, such as "owner". No effect on a status
// without a reason. Empty when there is none.
void SetReasonMetadata(absl::string_view key, absl::string_view value,
                       absl::Status* status);
std::string ReasonMetadata(absl::string_view key, const absl::Status& status);

}  // namespace selari

#endif  // SELARI_COMMON_ERROR_REASON_H_
