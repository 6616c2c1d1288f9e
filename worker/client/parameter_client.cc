#include "worker/client/parameter_client.h"

#include "common/error_reason.h"

namespace selari {

bool IsJobStopped(const absl::Status& status) {
  return ReasonOf(status) == ErrorReason::kJobStopped;
}

}  // namespace selari
