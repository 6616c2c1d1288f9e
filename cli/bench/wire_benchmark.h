// MeasureWire: the whole measurement of `selari bench wire` against a peer.
//
// Memory first, while nothing but the product has any; then rounds in which
// all ways take turns, in another order each time, so that what the machine
// does meanwhile meets all of them; then single steps of a small model.

#ifndef SELARI_CLI_BENCH_WIRE_BENCHMARK_H_
#define SELARI_CLI_BENCH_WIRE_BENCHMARK_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/bench/wire_report.h"

namespace selari {

// Blocks while it measures. `address` is the peer's host:port; `progress`
// (may be null) is told in a few words what is being done. DATA_LOSS when
// received weights differ from what they must be; otherwise as WireSession.
absl::StatusOr<WireReport> MeasureWire(
    const WireOptions& options, const std::string& address,
    const std::function<void(absl::string_view)>& progress);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_WIRE_BENCHMARK_H_
