// RunLedger: a job of a coordinator and servers, whose workers (ledger_pusher)
// check that each acknowledged push counts once while servers are killed and
// paused.
//
// Thread safety: one at a time, from a thread that outlives it.

#ifndef SELARI_CLI_CHAOS_LEDGER_RUN_H_
#define SELARI_CLI_CHAOS_LEDGER_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/chaos/chaos_view.h"
#include "cli/chaos/fault_plan.h"
#include "common/stop_token.h"
#include "selari/v1/job.pb.h"

namespace selari {

struct LedgerOptions {
  std::string program;  // a selari binary
  std::string folder;   // not there yet
  int32_t servers = 1;
  int32_t workers = 3;
  v1::ConsistencyPolicy consistency;
  v1::Durability durability = v1::DURABILITY_JOURNALED;
  // Of servers only. Borrowed.
  FaultPlan* plan = nullptr;
  // The plan's clock, and when no round begins any more.
  std::function<double()> seconds;
  double end_seconds = 0;
  ChaosView* view = nullptr;        // borrowed
  const StopToken* stop = nullptr;  // borrowed
};

struct LedgerResult {
  // OK when each acknowledged push counted once and every process ended with 0.
  // DATA_LOSS for a push that did not; CANCELLED after a stop; else what the
  // cluster failed with.
  absl::Status status;
  LedgerCount count;
  std::vector<FaultKind> faults;
};

LedgerResult RunLedger(const LedgerOptions& options);

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_LEDGER_RUN_H_
