// The view for programs: one JSON object a line.

#include <string>

#include "cli/chaos/chaos_view.h"
#include "cli/json_line.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(absl::string_view text) {
  return std::string(text.data(), text.size());
}

class JsonView final : public ChaosView {
 public:
  explicit JsonView(std::FILE* out) : out_(out) {}

  void OnNote(absl::string_view note) override {
    Print({{"event", "note"}, {"message", Text(note)}});
  }
  void OnProgress(int64_t step, int64_t total_steps, double seconds) override {
    Print({{"event", "progress"},
           {"step", step},
           {"total_steps", total_steps},
           {"at_seconds", JsonNumber(seconds)}});
  }
  void OnRound(absl::string_view name, const TrainResult& r) override {
    Print({{"event", "round"},
           {"name", Text(name)},
           {"state", r.state},
           {"message", r.message},
           {"steps", r.steps},
           {"seconds", JsonNumber(r.seconds)},
           {"samples_per_second", JsonNumber(r.samples_per_second)},
           {"digest", r.digest}});
  }
  void OnFault(const FaultEvent& fault) override {
    Print(
        {{"event", "fault"},
         {"fault", FaultNames()[static_cast<size_t>(fault.kind)]},
         {"member", fault.member},
         {"at_seconds", JsonNumber(fault.at_seconds)},
         {"pause_seconds",
          IsKill(fault.kind) ? Json(nullptr) : JsonNumber(fault.pause_seconds)},
         {"step", fault.step < 0 ? Json(nullptr) : Json(fault.step)}});
  }
  void OnNextStep(double seconds) override {
    Print({{"event", "next_step"}, {"seconds", JsonNumber(seconds)}});
  }
  void OnLedger(absl::string_view mode, const LedgerCount& c) override {
    Print({{"event", "ledger"},
           {"mode", Text(mode)},
           {"faults", c.faults},
           {"acknowledged", c.acknowledged},
           {"lost", c.lost},
           {"doubled", c.doubled}});
  }
  void OnVerdict(const ChaosVerdict& v) override {
    Json faults = Json::object();
    int64_t kills = 0;
    for (const std::string& name : FaultNames()) {
      faults[name] = 0;
    }
    for (const FaultKind kind : v.faults) {
      kills += IsKill(kind) ? 1 : 0;
      Json& count = faults[FaultNames()[static_cast<size_t>(kind)]];
      count = count.get<int64_t>() + 1;
    }
    const Json none(nullptr);
    const auto ledger = [&](int64_t LedgerCount::*field) {
      return v.ledger.has_value() ? Json((*v.ledger).*field) : none;
    };
    Print({{"event", "verdict"},
           {"pass", v.pass},
           {"reason", v.reason},
           {"kills", kills},
           {"faults", faults},
           {"rounds", v.rounds},
           {"same_digest",
            v.same_digest.has_value() ? Json(*v.same_digest) : none},
           {"throughput", v.throughput > 0 ? JsonNumber(v.throughput) : none},
           {"next_step_seconds", v.next_step_seconds},
           {"ledger_acknowledged", ledger(&LedgerCount::acknowledged)},
           {"ledger_lost", ledger(&LedgerCount::lost)},
           {"ledger_doubled", ledger(&LedgerCount::doubled)}});
  }

 private:
  void Print(const Json& event) { PrintJsonLine(event, out_); }

  std::FILE* const out_;
};

}  // namespace

std::unique_ptr<ChaosView> MakeChaosJsonView(std::FILE* out) {
  return std::make_unique<JsonView>(out);
}

}  // namespace selari
