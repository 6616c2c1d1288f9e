// selari, the one binary: sets up the process, runs one command.

#include <cstdio>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/bench/bench_commands.h"
#include "cli/chaos/chaos_command.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/print_error.h"
#include "cli/signals.h"
#include "cli/write_out.h"
#include "common/clock.h"
#include "common/malloc_tuning.h"
#include "common/version.h"

namespace selari {
namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

int Print(const std::string& text) {
  const absl::Status status = WriteOut(text);
  if (!status.ok()) {
    PrintError(status);
  }
  return ExitCodeOf(status);
}

int Main(int argc, char** argv) {
  TuneMalloc();
  const SystemClock clock;
  const Command command = ParseCommandLine(argc, argv);
  if (const auto* exit = std::get_if<ExitNow>(&command)) {
    if (exit->exit_code == kExitOk) {
      return Print(exit->text);
    }
    std::fputs(exit->text.c_str(), stderr);
    return exit->exit_code;
  }
  return std::visit(
      Overloaded{
          [](const ExitNow& c) { return c.exit_code; },
          [&clock](const TrainCommand& c) {
            Signals signals(nullptr, &clock);
            return RunTrainCommand(c, &signals);
          },
          [&clock](const CoordinatorCommand& c) {
            Signals signals(nullptr, &clock);
            return RunCoordinatorCommand(c, &signals);
          },
          [&clock](const ServerCommand& c) {
            Signals signals(nullptr, &clock);
            return RunServerCommand(c, &signals);
          },
          [&clock](const WorkerCommand& c) {
            Signals signals(nullptr, &clock);
            return RunWorkerCommand(c, &signals);
          },
          [&clock](const StatusCommand& c) {
            Signals signals(nullptr, &clock);
            return RunStatusCommand(c, &signals);
          },
          [](const CheckpointCommand& c) { return RunCheckpointCommand(c); },
          [](const DigestCommand& c) { return RunDigestCommand(c); },
          [](const ExportCommand& c) { return RunExportCommand(c); },
          [](const BenchWireCommand& c) { return RunBenchWireCommand(c); },
          [](const BenchApplyCommand& c) { return RunBenchApplyCommand(c); },
          [](const BenchKernelsCommand& c) {
            return RunBenchKernelsCommand(c);
          },
          [](const BenchStepCommand& c) { return RunBenchStepCommand(c); },
          [&clock](const ChaosCommand& c) {
            Signals signals(nullptr, &clock);
            return RunChaosCommand(c, &signals);
          },
          [](const VersionCommand&) {
            return Print(absl::StrCat("selari ", kVersion, "\n"));
          },
      },
      command);
}

}  // namespace
}  // namespace selari

// What would be thrown here, such as bad_alloc, is to end the process.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) { return selari::Main(argc, argv); }
