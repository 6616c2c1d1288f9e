// RunRound: one training run by `selari train`, whose processes are killed and
// paused while it runs.
//
// Thread safety: one round at a time, from the thread that outlives it.

#ifndef SELARI_CLI_CHAOS_CHAOS_ROUND_H_
#define SELARI_CLI_CHAOS_CHAOS_ROUND_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/chaos/chaos_view.h"
#include "cli/chaos/fault_plan.h"
#include "cli/chaos/train_process.h"
#include "cli/job_options.h"
#include "common/stop_token.h"

namespace selari {

struct RoundOptions {
  std::string program;  // a selari binary
  // With an output of its own, not there yet.
  JobOptions job;
  // What the processes print: this and ".jsonl", "-2.jsonl" and so on, one for
  // each life of the coordinator.
  std::string log_stem;
  // Null: nothing is disturbed. Borrowed.
  FaultPlan* plan = nullptr;
  // The plan's clock, and when it has its last fault.
  std::function<double()> seconds;
  double end_seconds = 0;
  // A job that gets no further for so long hangs. > 0.
  double hang_seconds = 0;
  ChaosView* view = nullptr;        // borrowed
  const StopToken* stop = nullptr;  // ends the round; borrowed
};

struct RoundResult {
  // OK when the run ended well with all of its steps. DEADLINE_EXCEEDED when it
  // hung, CANCELLED after a stop, UNKNOWN with its own words when it failed.
  absl::Status status;
  TrainResult train;
  std::vector<FaultKind> faults;
  std::vector<double> next_step_seconds;
};

RoundResult RunRound(const RoundOptions& options);

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_CHAOS_ROUND_H_
