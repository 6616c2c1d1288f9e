// TrainView: how `train` and `coordinator` show a run. Three ways: one live
// line on a terminal, plain lines elsewhere, JSON objects for programs.
//
// Thread safety: one thread.

#ifndef SELARI_CLI_TRAIN_VIEW_H_
#define SELARI_CLI_TRAIN_VIEW_H_

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "selari/v1/coordinator_service.pb.h"

namespace selari {

// What begins.
struct TrainStart {
  std::string job_name;
  std::string shape;   // what runs, for people
  std::string output;  // folder
  // host:port of its coordinator; empty when nobody can call it.
  std::string coordinator;
};

// Where a run is.
struct TrainProgress {
  int64_t step = 0;                // updates applied
  int64_t total_steps = 0;         // 0: not known
  double samples_per_second = -1;  // negative: not known
  // Mean over the newest logged steps; none before.
  std::optional<double> loss;
  std::optional<double> accuracy;  // share in [0, 1]; none for regression
  double seconds_left = -1;        // negative: not known
  int64_t bytes_pushed = 0;
  int64_t bytes_pulled = 0;
};

// What a run came to.
struct TrainSummary {
  v1::JobState state = v1::JOB_STATE_UNSPECIFIED;
  std::string message;  // why, when it failed
  bool has_test = false;
  v1::Evaluation test;  // the last one, if has_test
  std::string digest;   // of the last checkpoint
  int64_t steps = 0;
  double seconds = 0;
  double samples_per_second = -1;  // negative: not known
  std::string checkpoint;          // folder, empty if there is none
  // What goes on with the run; empty if it is done or nothing was saved.
  std::string resume_command;
  std::string output;  // folder
  std::vector<v1::MemberStatus> workers;
};

class TrainView {
 public:
  virtual ~TrainView() = default;

  // The run begins.
  virtual void OnStart(const TrainStart& start) = 0;
  // One sentence: what is waited for, or what happened.
  virtual void OnNote(absl::string_view note) = 0;
  // Often; the view decides what it shows.
  virtual void OnProgress(const TrainProgress& progress) = 0;
  // Once for each logged step (training.log_every_steps).
  virtual void OnStep(const TrainProgress& progress) = 0;
  virtual void OnEvaluation(const v1::Evaluation& evaluation) = 0;
  virtual void OnCheckpoint(absl::string_view folder, int64_t step) = 0;
  virtual void OnSummary(const TrainSummary& summary) = 0;
};

// `out` is borrowed. The live one rewrites its last line.
std::unique_ptr<TrainView> MakeLiveView(std::FILE* out);
std::unique_ptr<TrainView> MakePlainView(std::FILE* out);
std::unique_ptr<TrainView> MakeJsonView(std::FILE* out);

}  // namespace selari

#endif  // SELARI_CLI_TRAIN_VIEW_H_
