// Measuring rates in turns: limits of the machine and what is compared with
// them, so that whatever else the machine does meets all of them.

#ifndef SELARI_CLI_BENCH_RATE_CASES_H_
#define SELARI_CLI_BENCH_RATE_CASES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/bench/rate_report.h"

namespace selari {

struct RateCase {
  std::string name;
  RateUnit unit = RateUnit::kBytes;
  // Measures for a moment; units per second.
  std::function<absl::StatusOr<double>()> measure;
};

// Calls `work` once, then again and again for at least `seconds`; the rate of
// the latter when each call is `units_per_call` of work. Seconds are those that
// the calling thread had a core for, so that what else runs takes no share of
// them: `work` must neither wait nor use other threads. The first error of
// `work` ends it.
absl::StatusOr<double> MeasureRate(double units_per_call, double seconds,
                                   const std::function<absl::Status()>& work);

// `repeats` rounds, >= 1, after one to warm up, each in another order. Returns
// the first error. Each unit of `cases` has a limit.
absl::Status MeasureInTurns(const std::vector<RateCase>& limits,
                            const std::vector<RateCase>& cases, int repeats,
                            RateReport* report);

// A copy of `bytes` with memcpy. Counts what is copied once, or, for what is
// read and written, twice: `counted_times`.
RateCase MemcpyLimit(int64_t bytes, int counted_times);

// Multiply-adds in registers on one core, at this processor's best level.
RateCase MultiplyAddLimit();

// How long one measurement of a case lasts.
constexpr double kMeasureSeconds = 0.05;

}  // namespace selari

#endif  // SELARI_CLI_BENCH_RATE_CASES_H_
