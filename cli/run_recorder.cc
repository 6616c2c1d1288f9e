#include "cli/run_recorder.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "common/status.h"
#include "worker/metrics/csv_writer.h"
#include "worker/metrics/event_writer.h"

namespace selari {
namespace {

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
  FileRecorder(std::unique_ptr<CsvWriter> csv,
               std::unique_ptr<EventWriter> events)
      : csv_(std::move(csv)), events_(std::move(events)) {}

  void OnStep(const TrainProgress& p) override {
    Write(p.step,
          {{p.loss, p.accuracy, p.samples_per_second, std::nullopt,
            std::nullopt, std::nullopt}},
          {{"train/loss", p.loss},
           {"train/accuracy", p.accuracy},
           {"train/samples_per_second", p.samples_per_second}});
  }

  void OnEvaluation(const v1::Evaluation& e) override {
    std::optional<double> auc;
    std::vector<Scalar> scalars = {{"test/loss", e.loss()},
                                   {"test/accuracy", e.accuracy()}};
    if (e.auc() > 0) {
      auc = e.auc();
      scalars.push_back({"test/auc", e.auc()});
    }
    Write(e.step(),
          {{std::nullopt, std::nullopt, std::nullopt, e.loss(), e.accuracy(),
            auc}},
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
  absl::Status first_error_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<RunRecorder>> RunRecorder::Create(
    FileEnv& env, const std::string& output_dir, int64_t start_step) {
  const int64_t restart_step = start_step > 0 ? start_step : -1;
  CsvWriter::Options csv;
  csv.path = JoinPath(output_dir, "metrics.csv");
  csv.columns = {"loss",      "accuracy",      "samples_per_second",
                 "test_loss", "test_accuracy", "test_auc"};
  csv.restart_step = restart_step;
  SELARI_ASSIGN_OR_RETURN(auto csv_writer, CsvWriter::Create(env, csv));
  EventWriter::Options events;
  events.dir = JoinPath(output_dir, "tensorboard");
  events.host = HostName();
  events.wall_time_ms = NowMs();
  events.restart_step = restart_step;
  SELARI_ASSIGN_OR_RETURN(auto event_writer, EventWriter::Create(env, events));
  return std::make_unique<FileRecorder>(std::move(csv_writer),
                                        std::move(event_writer));
}

}  // namespace selari
