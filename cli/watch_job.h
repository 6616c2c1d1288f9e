// WatchJob: follows a job's status by its coordinator's stream, which misses
// no end, as reading now and then would.

#ifndef SELARI_CLI_WATCH_JOB_H_
#define SELARI_CLI_WATCH_JOB_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/stop_token.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

struct WatchOptions {
  std::string coordinator;  // host:port
  // How long to wait for a coordinator that is not there yet. > 0.
  int64_t timeout_ms = 300'000;
  // Told within 2 s, and every 5 s, that it is waited for.
  std::function<void(absl::string_view)> log;
};

// Calls `on_status` with the status now and after each change, until the job
// has ended, `stop` is asked for or it returns false. Blocks. OK then;
// DEADLINE_EXCEEDED when there was no coordinator until the time-out,
// UNAVAILABLE when it went away.
absl::Status WatchJob(
    const WatchOptions& options, const StopToken& stop,
    const std::function<bool(const v1::JobStatus&)>& on_status);

}  // namespace selari

#endif  // SELARI_CLI_WATCH_JOB_H_
