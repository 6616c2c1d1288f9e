// The command line of `selari bench` and its subcommands.
//
// Thread safety: none; one thread builds and parses.

#ifndef SELARI_CLI_BENCH_COMMAND_LINE_H_
#define SELARI_CLI_BENCH_COMMAND_LINE_H_

#include <functional>

#include "CLI/CLI.hpp"
#include "cli/bench/bench_options.h"
#include "cli/command_line.h"

namespace selari {

// Where the options are parsed to.
struct BenchCommands {
  BenchWireCommand wire;
  BenchApplyCommand apply;
  BenchKernelsCommand kernels;
  BenchStepCommand step;
};

// Told, while the line is parsed, how to make the command that was meant.
using SelectCommand = std::function<void(std::function<Command()>)>;

// Adds `bench` to `app`. `commands` outlives the parsing.
void AddBench(CLI::App* app, BenchCommands* commands,
              const SelectCommand& select);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_COMMAND_LINE_H_
