// CheckReport: whether a worker's report can be true. Any client can send one,
// and its numbers are added up and shown.
//
// A pure function.

#ifndef SELARI_SERVER_COORDINATOR_REPORT_CHECK_H_
#define SELARI_SERVER_COORDINATOR_REPORT_CHECK_H_

#include "absl/status/status.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

// INVALID_ARGUMENT naming worker, field and number: steps and counts must be in
// [0, 2^52], so that those of all workers can be added up.
[[nodiscard]] absl::Status CheckReport(
    const v1::ReportProgressRequest& request);

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_REPORT_CHECK_H_
