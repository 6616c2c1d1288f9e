// `selari chaos`: a rehearsal of failures. Takes what the command line said and
// returns the exit code (cli/exit_code.h).

#ifndef SELARI_CLI_CHAOS_CHAOS_COMMAND_H_
#define SELARI_CLI_CHAOS_CHAOS_COMMAND_H_

#include "cli/chaos/chaos_options.h"
#include "cli/signals.h"

namespace selari {

// kExitOk when it passed, kExitFailed when not.
int RunChaosCommand(const ChaosCommand& command, Signals* signals);

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_CHAOS_COMMAND_H_
