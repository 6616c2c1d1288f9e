// The commands of selari, one function each: takes what the command line said
// and returns the exit code (exit_code.h). Errors are printed as one sentence
// on standard error.

#ifndef SELARI_CLI_COMMANDS_H_
#define SELARI_CLI_COMMANDS_H_

#include "cli/command_line.h"
#include "cli/signals.h"

namespace selari {

int RunTrainCommand(const TrainCommand& command, Signals* signals);
int RunCoordinatorCommand(const CoordinatorCommand& command, Signals* signals);
int RunServerCommand(const ServerCommand& command, Signals* signals);
int RunWorkerCommand(const WorkerCommand& command, Signals* signals);
int RunStatusCommand(const StatusCommand& command, Signals* signals);
int RunCheckpointCommand(const CheckpointCommand& command);
int RunDigestCommand(const DigestCommand& command);
int RunExportCommand(const ExportCommand& command);

}  // namespace selari

#endif  // SELARI_CLI_COMMANDS_H_
