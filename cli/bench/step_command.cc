// `selari bench step`.

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/bench/bench_commands.h"
#include "cli/bench/step_benchmark.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/prepare_run.h"
#include "cli/print_error.h"
#include "common/posix_file_env.h"
#include "common/status.h"

namespace selari {
namespace {

absl::StatusOr<StepReportSummary> Measure(const BenchStepCommand& command) {
  StepBenchOptions options;
  options.steps = command.steps;
  options.repeats = command.repeats;
  options.threads = command.threads;
  if (options.steps < options.repeats) {
    return absl::InvalidArgumentError(
        absl::StrCat("--steps ", options.steps, " is less than --repeats ",
                     options.repeats, ", the parts that they are cut into"));
  }
  JobOptions job;
  job.job_file = command.job_file;
  job.assignments = command.assignments;
  job.centralised = true;
  // Schedules of the learning rate shall not end on the way.
  job.steps = options.warm_up_steps + options.steps;
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(const PreparedRun run,
                          PrepareJob(env, job, DataPlace::kHere));
  return MeasureSteps(run.job, run.base_dir, options);
}

}  // namespace

int RunBenchStepCommand(const BenchStepCommand& command) {
  const absl::StatusOr<StepReportSummary> report = Measure(command);
  if (!report.ok()) {
    PrintError(report.status());
    return ExitCodeOf(report.status());
  }
  const std::string text =
      command.json ? StepReportJson(*report) + "\n" : StepReportText(*report);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace selari
