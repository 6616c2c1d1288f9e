// The subcommands of `selari bench`, one function each: takes what the command
// line said and returns the exit code (cli/exit_code.h).

#ifndef SELARI_CLI_BENCH_BENCH_COMMANDS_H_
#define SELARI_CLI_BENCH_BENCH_COMMANDS_H_

#include "cli/bench/bench_options.h"

namespace selari {

int RunBenchWireCommand(const BenchWireCommand& command);
int RunBenchApplyCommand(const BenchApplyCommand& command);
int RunBenchKernelsCommand(const BenchKernelsCommand& command);
int RunBenchStepCommand(const BenchStepCommand& command);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_BENCH_COMMANDS_H_
