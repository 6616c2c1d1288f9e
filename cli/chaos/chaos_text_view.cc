// The view for people.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/chaos/chaos_view.h"
#include "common/human.h"

namespace selari {
namespace {

std::string Kinds(const std::vector<FaultKind>& faults) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < FaultNames().size(); ++i) {
    const auto count =
        std::count(faults.begin(), faults.end(), static_cast<FaultKind>(i));
    if (count > 0) {
      parts.push_back(absl::StrCat(count, " ", FaultNames()[i]));
    }
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, ", ");
}

class TextView final : public ChaosView {
 public:
  explicit TextView(std::FILE* out) : out_(out) {}

  void OnNote(absl::string_view note) override { Print(note); }
  void OnProgress(int64_t step, int64_t total_steps, double seconds) override {
    Print(absl::StrFormat("%9.1f s  step %d/%d", seconds, step, total_steps));
  }
  void OnRound(absl::string_view name, const TrainResult& r) override {
    Print(absl::StrFormat(
        "%-12s%s at step %d after %s, %s samples/s, digest %s", name, r.state,
        r.steps, HumanSeconds(r.seconds), HumanCount(r.samples_per_second),
        r.digest.empty() ? "unknown" : r.digest.substr(0, 16)));
  }
  void OnFault(const FaultEvent& fault) override {
    Print(absl::StrFormat(
        "%9.1f s  %s %s%s", fault.at_seconds,
        IsKill(fault.kind) ? "kill -9" : "stops", fault.member,
        absl::StrCat(IsKill(fault.kind)
                         ? ""
                         : absl::StrFormat(" for %.1f s", fault.pause_seconds),
                     fault.step < 0 ? " before the first step"
                                    : absl::StrCat(" at step ", fault.step))));
  }
  void OnNextStep(double seconds) override {
    Print(absl::StrFormat("%11s  next step %.1f s after it", "", seconds));
  }
  void OnLedger(absl::string_view mode, const LedgerCount& c) override {
    Print(absl::StrFormat(
        "%-12s%s: %d pushes acknowledged through %s: %d lost, %d doubled",
        "ledger", mode, c.acknowledged, CountOf(c.faults, "fault"), c.lost,
        c.doubled));
  }
  void OnVerdict(const ChaosVerdict& v) override {
    Row("rounds", absl::StrCat(v.rounds, " ended well"));
    Row("faults", Kinds(v.faults));
    if (!v.next_step_seconds.empty()) {
      std::vector<double> sorted = v.next_step_seconds;
      std::sort(sorted.begin(), sorted.end());
      Row("next step",
          absl::StrFormat("%.1f s after a fault (median; %.1f to %.1f s)",
                          sorted[sorted.size() / 2], sorted.front(),
                          sorted.back()));
    }
    if (v.throughput > 0) {
      Row("throughput",
          absl::StrFormat("%.2f of the undisturbed run's", v.throughput));
    }
    Row("digest", v.rounds == 0 ? "not compared: no round ended well"
                  : !v.same_digest.has_value()
                      ? "not compared: only CONSISTENCY_SYNC promises it"
                  : *v.same_digest ? "the same with faults as without"
                                   : "DIFFERS from the undisturbed run's");
    if (v.ledger.has_value()) {
      const LedgerCount& c = *v.ledger;
      Row("ledger", absl::StrCat(c.acknowledged, " pushes acknowledged, ",
                                 c.lost, " lost, ", c.doubled, " doubled"));
    } else {
      Row("ledger",
          "not kept: CHECKPOINTED may lose what it acknowledged since the "
          "newest checkpoint (docs/DURABILITY.md)");
    }
    Row("verdict", v.pass ? "pass" : absl::StrCat("FAIL: ", v.reason));
  }

 private:
  void Row(absl::string_view name, absl::string_view text) {
    Print(absl::StrFormat("%-12s%s", name, text));
  }
  void Print(absl::string_view line) {
    std::fprintf(out_, "%.*s\n", static_cast<int>(line.size()), line.data());
    std::fflush(out_);
  }

  std::FILE* const out_;
};

}  // namespace

std::unique_ptr<ChaosView> MakeChaosTextView(std::FILE* out) {
  return std::make_unique<TextView>(out);
}

}  // namespace selari
