#include "cli/run_recorder.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "worker/metrics/csv_writer.h"
#include "worker/metrics/event_writer.h"

namespace selari {
namespace {

// As the writer's limit: a row for each of a hundred million steps.
constexpr int64_t kCsvBytesMax = int64_t{16} << 30;

int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string HostName() {
  char name[256] = "localhost";
  gethostname(name, sizeof(name) - 1);
  return name;
}

class FileRecorder : public RunRecorder {
 public:
  // `evaluated_step`: of the evaluation that is known already.
  FileRecorder(std::unique_ptr<CsvWriter> csv,
               std::unique_ptr<EventWriter> events, int64_t evaluated_step)
      : csv_(std::move(csv)),
        events_(std::move(events)),
        evaluated_step_(evaluated_step) {}

  void OnStep(const TrainProgress& p) override {
    std::optional<double> rate;
    std::vector<Scalar> scalars;
    if (p.loss.has_value()) {
      scalars.push_back({"train/loss", *p.loss});
    }
    if (p.accuracy.has_value()) {
      scalars.push_back({"train/accuracy", *p.accuracy});
    }
    if (p.samples_per_second >= 0) {
      rate = p.samples_per_second;
      scalars.push_back({"train/samples_per_second", p.samples_per_second});
    }
    Write(
        p.step,
        {{p.loss, p.accuracy, rate, std::nullopt, std::nullopt, std::nullopt}},
        scalars);
  }

  void OnEvaluation(const v1::Evaluation& e) override {
    if (e.step() == evaluated_step_) {
      return;
    }
    std::optional<double> accuracy;
    std::optional<double> auc;
    std::vector<Scalar> scalars = {{"test/loss", e.loss()}};
    if (e.has_accuracy()) {
      accuracy = e.accuracy();
      scalars.push_back({"test/accuracy", e.accuracy()});
    }
    if (e.auc() > 0) {
      auc = e.auc();
      scalars.push_back({"test/auc", e.auc()});
    }
    Write(e.step(),
          {{std::nullopt, std::nullopt, std::nullopt, e.loss(), accuracy, auc}},
          scalars);
  }

  absl::Status Close() override {
    Keep(csv_->Sync());
    Keep(events_->Sync());
    return first_error_;
  }

 private:
  void Write(int64_t step, const std::vector<std::optional<double>>& row,
             const std::vector<Scalar>& scalars) {
    Keep(csv_->Write(step, row));
    Keep(events_->Write(NowMs(), step, scalars));
  }
  void Keep(const absl::Status& status) {
    if (first_error_.ok()) {
      first_error_ = status;
    }
  }

  const std::unique_ptr<CsvWriter> csv_;
  const std::unique_ptr<EventWriter> events_;
  const int64_t evaluated_step_;
  absl::Status first_error_;
};

// Whether an earlier run has evaluated the weights of `step`; one that goes on
// from there does so again. Its row starts with cells that are empty.
absl::StatusOr<bool> IsEvaluated(FileEnv& env, const std::string& path,
                                 int64_t step) {
  SELARI_ASSIGN_OR_RETURN(const bool exists, env.Exists(path));
  if (step <= 0 || !exists) {
    return false;
  }
  SELARI_ASSIGN_OR_RETURN(const std::string file,
                          ReadFile(env, path, kCsvBytesMax));
  return absl::StrContains(file, absl::StrCat("\n", step, ",,,,"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunRecorder>> RunRecorder::Create(
    FileEnv& env, const std::string& output_dir, int64_t start_step) {
  // A row's step counts updates: that of start_step is of the run before.
  const int64_t restart_step = start_step > 0 ? start_step + 1 : -1;
  CsvWriter::Options csv;
  csv.path = JoinPath(output_dir, "metrics.csv");
  csv.columns = {"loss",      "accuracy",      "samples_per_second",
                 "test_loss", "test_accuracy", "test_auc"};
  csv.restart_step = restart_step;
  SELARI_ASSIGN_OR_RETURN(const bool evaluated,
                          IsEvaluated(env, csv.path, start_step));
  SELARI_ASSIGN_OR_RETURN(auto csv_writer, CsvWriter::Create(env, csv));
  EventWriter::Options events;
  events.dir = JoinPath(output_dir, "tensorboard");
  events.host = HostName();
  events.wall_time_ms = NowMs();
  events.restart_step = restart_step;
  SELARI_ASSIGN_OR_RETURN(auto event_writer, EventWriter::Create(env, events));
  return std::make_unique<FileRecorder>(std::move(csv_writer),
                                        std::move(event_writer),
                                        evaluated ? start_step : -1);
}

}  // namespace selari
