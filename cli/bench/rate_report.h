// Rates beside the machine's limits, and how they are told: what `selari bench
// apply` and `selari bench kernels` have found.
//
// Pure functions: safe from any thread.

#ifndef SELARI_CLI_BENCH_RATE_REPORT_H_
#define SELARI_CLI_BENCH_RATE_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/bench/bench_stats.h"

namespace selari {

enum class RateUnit { kBytes, kFlops };  // per second

struct RateResult {
  std::string name;  // also the name in JSON
  RateUnit unit = RateUnit::kBytes;
  Spread rate;
  // Of the limit of the same unit; median: of the medians, min and max: of the
  // rounds. All 1 for the limits themselves.
  Spread ratio;
};

struct RateReport {
  std::string group;  // of the results in JSON, e.g. "kernels"
  std::string about;  // one line for people: what was counted
  int repeats = 0;
  std::vector<std::pair<std::string, std::variant<int64_t, std::string>>>
      parameters;
  std::vector<RateResult> limits;  // one for each unit in use
  std::vector<RateResult> results;
};

// A table for people.
std::string RateReportText(const RateReport& report);

// One object, without a line break at its end:
//   {"limits": {"memcpy": {"bytes_per_second": .., ..}},
//    GROUP: {NAME: {"bytes_per_second": .., "ratio": .., ..}},
//    "parameters": {..}}
std::string RateReportJson(const RateReport& report);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_RATE_REPORT_H_
