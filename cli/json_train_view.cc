// The view for programs: one JSON object a line. README lists the events.

#include <string>

#include "cli/json_line.h"
#include "cli/train_view.h"
#include "nlohmann/json.hpp"

namespace selari {
namespace {

using Json = nlohmann::ordered_json;

Json Accuracy(const v1::Evaluation& e) {
  return e.has_accuracy() ? JsonNumber(e.accuracy()) : Json(nullptr);
}

// Negative numbers stand for what is not known.
Json Known(double value) {
  return value < 0 ? Json(nullptr) : JsonNumber(value);
}

std::string Text(absl::string_view text) {
  return std::string(text.data(), text.size());
}

class JsonView : public TrainView {
 public:
  explicit JsonView(std::FILE* out) : out_(out) {}

  void OnStart(const TrainStart& start) override {
    Print(
        {{"event", "start"},
         {"job", start.job_name},
         {"shape", start.shape},
         {"output", start.output},
         {"coordinator", start.coordinator.empty() ? Json(nullptr)
                                                   : Json(start.coordinator)}});
  }
  void OnNote(absl::string_view note) override {
    Print({{"event", "note"}, {"message", Text(note)}});
  }
  void OnProgress(const TrainProgress&) override {}
  void OnStep(const TrainProgress& p) override {
    Print({{"event", "progress"},
           {"step", p.step},
           {"total_steps", p.total_steps},
           {"samples_per_second", Known(p.samples_per_second)},
           {"loss", p.loss.has_value() ? JsonNumber(*p.loss) : Json(nullptr)},
           {"accuracy",
            p.accuracy.has_value() ? JsonNumber(*p.accuracy) : Json(nullptr)},
           {"seconds_left", Known(p.seconds_left)},
           {"bytes_pushed", p.bytes_pushed},
           {"bytes_pulled", p.bytes_pulled}});
  }
  void OnEvaluation(const v1::Evaluation& e) override {
    Print({{"event", "evaluation"},
           {"step", e.step()},
           {"test_loss", JsonNumber(e.loss())},
           {"test_accuracy", Accuracy(e)},
           {"test_auc", JsonNumber(e.auc())},
           {"samples", e.samples()}});
  }
  void OnCheckpoint(absl::string_view folder, int64_t step) override {
    Print({{"event", "checkpoint"}, {"step", step}, {"path", Text(folder)}});
  }
  void OnSummary(const TrainSummary& s) override {
    Json workers = Json::array();
    for (const v1::MemberStatus& worker : s.workers) {
      const v1::WorkerTotals& t = worker.totals();
      // One of another make need not count.
      const auto told = [&worker](const Json& value) {
        return worker.has_totals() ? value : Json(nullptr);
      };
      workers.push_back({{"worker", worker.member_id()},
                         {"samples", told(t.samples())},
                         {"compute_seconds", told(t.compute_us() * 1e-6)},
                         {"pull_wait_seconds", told(t.pull_wait_us() * 1e-6)},
                         {"push_wait_seconds", told(t.push_wait_us() * 1e-6)},
                         {"bytes_pushed", told(t.bytes_pushed())},
                         {"bytes_pulled", told(t.bytes_pulled())},
                         {"bytes_shared", told(t.bytes_shared())}});
    }
    const Json none(nullptr);
    Print({{"event", "summary"},
           {"state", StateName(s.state)},
           {"message", s.message},
           {"test_accuracy", s.has_test ? Accuracy(s.test) : none},
           {"test_loss", s.has_test ? JsonNumber(s.test.loss()) : none},
           {"test_auc",
            s.has_test && s.test.auc() > 0 ? JsonNumber(s.test.auc()) : none},
           {"test_step", s.has_test ? Json(s.test.step()) : none},
           {"digest", s.digest},
           {"steps", s.steps},
           {"seconds", JsonNumber(s.seconds)},
           {"samples_per_second", Known(s.samples_per_second)},
           {"checkpoint", s.checkpoint},
           {"output", s.output},
           {"resume_command",
            s.resume_command.empty() ? none : Json(s.resume_command)},
           {"workers", workers}});
  }

 private:
  static const char* StateName(v1::JobState state) {
    switch (state) {
      case v1::JOB_STATE_DONE:
        return "done";
      case v1::JOB_STATE_STOPPED:
        return "stopped";
      default:
        return "failed";
    }
  }

  void Print(const Json& event) { PrintJsonLine(event, out_); }

  std::FILE* const out_;
};

}  // namespace

std::unique_ptr<TrainView> MakeJsonView(std::FILE* out) {
  return std::make_unique<JsonView>(out);
}

}  // namespace selari
