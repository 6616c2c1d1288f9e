// The resident memory of this process, as Linux counts it.
//
// Thread safety: all functions from any thread.

#ifndef SELARI_CLI_BENCH_PROCESS_MEMORY_H_
#define SELARI_CLI_BENCH_PROCESS_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace selari {

struct ProcessMemory {
  int64_t rss_bytes = 0;       // VmRSS: resident now
  int64_t rss_peak_bytes = 0;  // VmHWM: the most so far
  // RssShmem: the part of rss_bytes that is memory shared between processes,
  // and so counted by each of them.
  int64_t rss_shared_bytes = 0;
};

ProcessMemory ReadProcessMemory();

// The same from the text of /proc/PID/status; 0 for a line that is not there.
ProcessMemory ParseProcessMemory(absl::string_view status);

// Lets the peak start anew at what is resident now, after memory that is free
// went back to the system. Where Linux does not allow it, the peak stays.
void ResetMemoryPeak();

// RESOURCE_EXHAUSTED when less than `bytes` are free on this machine. `what`
// needs them, for the message.
absl::Status CheckFreeMemory(int64_t bytes, absl::string_view what);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_PROCESS_MEMORY_H_
