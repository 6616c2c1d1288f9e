// Rehearsal: a job trained once undisturbed and then again and again while its
// processes are killed and paused, and a ledger kept where its durability
// promises one (ledger_run.h); and what came of it.
//
// Thread safety: one thread, which outlives it.

#ifndef SELARI_CLI_CHAOS_REHEARSAL_H_
#define SELARI_CLI_CHAOS_REHEARSAL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/chaos/chaos_options.h"
#include "cli/chaos/chaos_round.h"
#include "cli/chaos/chaos_view.h"
#include "cli/chaos/fault_plan.h"
#include "cli/prepare_run.h"
#include "common/stop_token.h"
#include "selari/v1/job.pb.h"

namespace selari {

class Rehearsal {
 public:
  // `run` is the command's job with an output folder; `program` a selari
  // binary. The rest is borrowed.
  Rehearsal(const ChaosCommand& command, PreparedRun run, std::string program,
            ChaosView* view, const StopToken* stop);

  // Blocks. Call once. What passes leaves only what its processes said.
  ChaosVerdict Run();

 private:
  double Seconds() const;
  RoundOptions Options(const std::string& name);
  RoundResult Train(const std::string& name, RoundOptions options);
  void TrainUnderFaults(const RoundResult& undisturbed, double undisturbed_s);
  void KeepLedgers();
  void KeepLedger(const v1::ConsistencyPolicy& consistency,
                  const std::string& mode, FaultPlan* plan, double end_seconds);
  bool keeps_ledger() const;
  std::vector<FaultKind> ServerFaults() const;
  void Fail(absl::string_view reason);

  const ChaosCommand& command_;
  const PreparedRun run_;
  const std::string program_;
  ChaosView* const view_;
  const StopToken* const stop_;
  std::vector<FaultKind> kinds_;
  double begin_ = 0;
  ChaosVerdict verdict_;
};

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_REHEARSAL_H_
