// FaultPlan: which faults come when. A pure function of the seed, so that a
// failing rehearsal can be held again with the same faults, though not at the
// same instructions of the processes.
//
//   FaultPlan plan(seed, /*every_seconds=*/5, {FaultKind::kKillServer});
//   if (now >= plan.next().at_seconds) { ... plan.Advance(now); }
//
// Not thread-safe.

#ifndef SELARI_CLI_CHAOS_FAULT_PLAN_H_
#define SELARI_CLI_CHAOS_FAULT_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace selari {

enum class FaultKind {
  kKillServer,
  kKillWorker,
  // The process that runs `selari train`, whose servers and workers end with
  // it; it is started again with --resume.
  kKillCoordinator,
  // SIGSTOP, and SIGCONT after pause_seconds.
  kPauseServer,
  kPauseWorker,
};

// "kill-server" and so on, in the order above.
const std::vector<std::string>& FaultNames();
// None when there is no fault of that name.
std::optional<FaultKind> FaultOfName(absl::string_view name);
bool IsKill(FaultKind kind);
bool IsOfServer(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kKillServer;
  double at_seconds = 0;
  double pause_seconds = 0;  // in [0.2, 2)
  // Random bits that choose among the processes of that kind.
  uint64_t choice = 0;
};

class FaultPlan {
 public:
  // Times between two faults are uniform in [0.5, 1.5] × every_seconds > 0;
  // each of `kinds`, at least one, is as likely as the others.
  FaultPlan(int64_t seed, double every_seconds, std::vector<FaultKind> kinds);

  const Fault& next() const { return next_; }
  // Faults that could not be done in time come later, one after the other.
  void Advance(double now_seconds);

 private:
  double Uniform();

  const int64_t seed_;
  const double every_seconds_;
  const std::vector<FaultKind> kinds_;
  uint64_t index_ = 0;  // of the next random number
  Fault next_;
};

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_FAULT_PLAN_H_
