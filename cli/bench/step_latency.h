// MeasureStepLatency: how long one step of a model that fits a packet takes,
// where nothing is left to overlap.

#ifndef SELARI_CLI_BENCH_STEP_LATENCY_H_
#define SELARI_CLI_BENCH_STEP_LATENCY_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "cli/bench/wire_report.h"

namespace selari {

// Opens a session of its own with the peer at `address` and takes `steps`
// steps of a model of `floats` weights each way (the product, bare gRPC, raw
// TCP), in turns of a hundred. Blocks; errors as MeasureWire.
absl::StatusOr<WireLatency> MeasureStepLatency(const std::string& address,
                                               int64_t floats, int32_t steps,
                                               int32_t shards);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_STEP_LATENCY_H_
