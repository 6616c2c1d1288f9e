// What `selari chaos` shows: each fault as it happens, and the verdict.
//
// Not thread-safe.

#ifndef SELARI_CLI_CHAOS_CHAOS_VIEW_H_
#define SELARI_CLI_CHAOS_CHAOS_VIEW_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cli/chaos/fault_plan.h"
#include "cli/chaos/train_process.h"

namespace selari {

// A fault that was done.
struct FaultEvent {
  FaultKind kind = FaultKind::kKillServer;
  std::string member;        // "server 1", "the coordinator"
  double at_seconds = 0;     // since the first round began
  double pause_seconds = 0;  // of a pause
  int64_t step = 0;          // that the job had told; -1: none yet
};

// Pushes of a ledger.
struct LedgerCount {
  int64_t acknowledged = 0;
  int64_t lost = 0;
  int64_t doubled = 0;
  int64_t faults = 0;
};

struct ChaosVerdict {
  bool pass = false;
  // Why not, a sentence; empty when it passed.
  std::string reason;
  int64_t rounds = 0;  // that ended well
  std::vector<FaultKind> faults;
  // From each fault to the job's next step.
  std::vector<double> next_step_seconds;
  // Samples a second of the disturbed rounds, of the undisturbed run's; 0 if
  // not known.
  double throughput = 0;
  // Unset where nothing promises equal digests: BOUNDED and ASYNC.
  std::optional<bool> same_digest;
  // Unset where an acknowledgement does not promise it: CHECKPOINTED.
  std::optional<LedgerCount> ledger;
};

class ChaosView {
 public:
  virtual ~ChaosView() = default;
  // A sentence about what comes next.
  virtual void OnNote(absl::string_view note) = 0;
  // A run goes on, every now and then.
  virtual void OnProgress(int64_t step, int64_t total_steps,
                          double seconds) = 0;
  virtual void OnRound(absl::string_view name, const TrainResult& result) = 0;
  virtual void OnFault(const FaultEvent& fault) = 0;
  virtual void OnNextStep(double seconds) = 0;
  virtual void OnLedger(absl::string_view mode, const LedgerCount& count) = 0;
  virtual void OnVerdict(const ChaosVerdict& verdict) = 0;
};

std::unique_ptr<ChaosView> MakeChaosTextView(std::FILE* out);
// One object a line, the last one the verdict.
std::unique_ptr<ChaosView> MakeChaosJsonView(std::FILE* out);

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_CHAOS_VIEW_H_
