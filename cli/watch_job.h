// WatchJob: follows a job's status by its coordinator's stream, which misses
// no end, as reading now and then would.

#ifndef SELARI_CLI_WATCH_JOB_H_
#define SELARI_CLI_WATCH_JOB_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "common/stop_token.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

// Calls `on_status` with the status now and after each change, until the job
// has ended or `stop` is asked for. Blocks. OK then; UNAVAILABLE when the
// coordinator cannot be reached or went away.
absl::Status WatchJob(
    const std::string& address, const StopToken& stop,
    const std::function<void(const v1::JobStatus&)>& on_status);

}  // namespace selari

#endif  // SELARI_CLI_WATCH_JOB_H_
