// RunWorkers: the workers of a benchmark at the same time, one thread each.
//
// Thread safety: a pure function of its arguments.

#ifndef SELARI_CLI_BENCH_RUN_WORKERS_H_
#define SELARI_CLI_BENCH_RUN_WORKERS_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace selari {

// Calls work(0) to work(workers - 1), all from the same moment on, and returns
// the seconds until the last has returned, or the first error. With the first
// error `on_error` is called, so that those who wait for the failed one end
// too; it comes from any thread. One worker runs on the calling thread.
absl::StatusOr<double> RunWorkers(
    int32_t workers, const std::function<absl::Status(int32_t)>& work,
    const std::function<void()>& on_error);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_RUN_WORKERS_H_
