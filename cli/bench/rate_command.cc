// `selari bench apply` and `selari bench kernels`.

#include <cstdio>
#include <string>

#include "cli/bench/apply_cases.h"
#include "cli/bench/bench_commands.h"
#include "cli/bench/kernel_cases.h"
#include "cli/bench/process_memory.h"
#include "cli/bench/rate_report.h"
#include "cli/exit_code.h"
#include "cli/print_error.h"
#include "common/isa.h"
#include "common/status.h"

namespace selari {
namespace {

absl::StatusOr<RateReport> MeasureApply(const BenchApplyCommand& command) {
  const int64_t bytes = command.megabytes << 20;
  // Gradients, two versions of the weights, two slots, and memcpy's arrays.
  SELARI_RETURN_IF_ERROR(
      CheckFreeMemory(bytes * (6 + command.workers), "the benchmark"));
  RateReport report;
  report.group = "apply";
  report.about =
      "bytes of gradient through one shard on one core, beside bytes copied";
  report.parameters = {{"model_bytes", bytes},
                       {"workers", int64_t{command.workers}}};
  SELARI_RETURN_IF_ERROR(MeasureInTurns({MemcpyLimit(bytes, 1)},
                                        ApplyCases(bytes, command.workers),
                                        command.repeats, &report));
  return report;
}

absl::StatusOr<RateReport> MeasureKernels(const BenchKernelsCommand& command) {
  RateReport report;
  report.group = "kernels";
  report.about =
      "one core; floating-point operations, or bytes read and written";
  report.parameters = {{"level", std::string(IsaLevelName(DetectIsaLevel()))},
                       {"array_bytes", kKernelArrayBytes}};
  SELARI_RETURN_IF_ERROR(
      MeasureInTurns({MemcpyLimit(kKernelArrayBytes, 2), MultiplyAddLimit()},
                     KernelCases(), command.repeats, &report));
  return report;
}

int Print(const absl::StatusOr<RateReport>& report, bool json) {
  if (!report.ok()) {
    PrintError(report.status());
    return ExitCodeOf(report.status());
  }
  const std::string text =
      json ? RateReportJson(*report) + "\n" : RateReportText(*report);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace

int RunBenchApplyCommand(const BenchApplyCommand& command) {
  return Print(MeasureApply(command), command.json);
}

int RunBenchKernelsCommand(const BenchKernelsCommand& command) {
  return Print(MeasureKernels(command), command.json);
}

}  // namespace selari
