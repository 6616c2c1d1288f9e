// What `selari bench wire` has found, and how it is told.
//
// Pure functions: safe from any thread.

#ifndef SELARI_CLI_BENCH_WIRE_REPORT_H_
#define SELARI_CLI_BENCH_WIRE_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cli/bench/bench_stats.h"
#include "cli/bench/process_memory.h"
#include "cli/bench/wire_job.h"
#include "cli/bench/wire_way.h"

namespace selari {

struct WireOptions {
  WireShape shape;
  WireTransport transport;
  int32_t repeats = 5;         // of every way, after one round to warm up, > 0
  int32_t steps = 2000;        // of the small model, >= 0; 0: not measured
  int64_t step_floats = 2500;  // of the small model, > 0
};

// One kind of run. All in bytes per second over `repeats` rounds; kBoth counts
// both directions.
struct WireKindResult {
  WireKind kind = WireKind::kPushApply;
  Spread selari;
  Spread raw;            // of the fastest manner, by its median
  std::string raw_name;  // that manner
  Spread grpc;
  Spread ratio;  // median: of the medians; min, max: of the rounds
};

// Microseconds of one step, from many.
struct StepTimes {
  double p50_us = 0;
  double p99_us = 0;
};

struct WireLatency {
  int32_t steps = 0;  // of each way; 0: not measured
  int64_t bytes = 0;  // there, and as many back
  StepTimes selari;   // push, apply, pull
  StepTimes grpc;     // a frame there and back on a bidirectional stream
  StepTimes raw;      // the whole work over plain sockets
};

// After some updates, before anything but the product has taken memory.
struct WireMemory {
  ProcessMemory server;
  int64_t server_weights_bytes = 0;
  int64_t server_slots_bytes = 0;
  ProcessMemory client;
  int64_t client_weights_bytes = 0;    // of all its workers
  int64_t client_gradients_bytes = 0;  // of all its workers
};

struct WireReport {
  WireOptions options;
  std::string peer;                   // host:port
  bool own_peer = false;              // started by this command
  bool shares_memory = false;         // the product does with the peer
  std::vector<WireKindResult> kinds;  // as kWireKinds
  WireLatency latency;
  WireMemory memory;
  int64_t checks = 0;         // times that received weights were compared
  int64_t checked_bytes = 0;  // all equal, or there would be no report
};

// A table for people.
std::string WireReportText(const WireReport& report);

// One object, without a line break at its end:
//   {"push_apply": {"bytes_per_second": .., "raw_tcp_bytes_per_second": ..,
//    "ratio": .., ..}, "pull": {..}, "both": {..}, "step_latency": {..},
//    "memory": {..}, "checked": {..}, "parameters": {..}}
std::string WireReportJson(const WireReport& report);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_WIRE_REPORT_H_
