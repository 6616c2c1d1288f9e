// MeasureSteps: what `selari bench step` does: the training loop of a job in
// one process, as `selari train --centralised` runs it, without coordinator,
// checkpoints and evaluation.

#ifndef SELARI_CLI_BENCH_STEP_BENCHMARK_H_
#define SELARI_CLI_BENCH_STEP_BENCHMARK_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/bench/bench_stats.h"
#include "selari/v1/job.pb.h"

namespace selari {

struct StepBenchOptions {
  int64_t steps = 300;         // that count, >= repeats
  int64_t warm_up_steps = 30;  // before them, >= 1
  int32_t repeats = 5;         // parts of `steps` whose rates are compared
  int32_t threads = 0;         // that compute; 0: as the job says, or the cores
};

struct StepReportSummary {
  StepBenchOptions options;  // with the threads in use
  std::string job;
  int64_t batch = 0;
  int64_t weights = 0;  // elements of the model
  Spread samples_per_second;
  double step_p50_us = 0;
  double step_p99_us = 0;
  // Means of a step, which they add up to.
  double compute_us = 0;    // forward and backward
  double pull_wait_us = 0;  // for weights
  double push_wait_us = 0;  // for the window of pushes
  double rest_us = 0;       // the next batch, mostly
  // Over all steps.
  double cores_used = 0;            // CPU time over time
  double page_faults_per_step = 0;  // of fresh memory: 0 when all is reused
};

// Blocks while it trains. `base_dir`: where relative paths of the data start.
// Errors: those of LoadData, or of training.
absl::StatusOr<StepReportSummary> MeasureSteps(const v1::ResolvedJob& job,
                                               absl::string_view base_dir,
                                               const StepBenchOptions& options);

// A table for people.
std::string StepReportText(const StepReportSummary& report);
// One object, without a line break at its end.
std::string StepReportJson(const StepReportSummary& report);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_STEP_BENCHMARK_H_
