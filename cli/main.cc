// selari, the one binary: sets up the process, runs one command.

#include <cstdio>
#include <variant>

#include "cli/bench/bench_commands.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/signals.h"
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

int Main(int argc, char** argv) {
  TuneMalloc();
  const Command command = ParseCommandLine(argc, argv);
  if (const auto* exit = std::get_if<ExitNow>(&command)) {
    std::fputs(exit->text.c_str(),
               exit->exit_code == kExitOk ? stdout : stderr);
    return exit->exit_code;
  }
  return std::visit(
      Overloaded{
          [](const ExitNow& c) { return c.exit_code; },
          [](const TrainCommand& c) {
            Signals signals(nullptr);
            return RunTrainCommand(c, &signals);
          },
          [](const CoordinatorCommand& c) {
            Signals signals(nullptr);
            return RunCoordinatorCommand(c, &signals);
          },
          [](const ServerCommand& c) {
            Signals signals(nullptr);
            return RunServerCommand(c, &signals);
          },
          [](const WorkerCommand& c) {
            Signals signals(nullptr);
            return RunWorkerCommand(c, &signals);
          },
          [](const StatusCommand& c) {
            Signals signals(nullptr);
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
          [](const VersionCommand&) {
            std::printf("selari %s\n", kVersion);
            return kExitOk;
          },
      },
      command);
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) { return selari::Main(argc, argv); }
