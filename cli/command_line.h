// The command line of selari: which command, with which options.
//
// Thread safety: pure function of its arguments.

#ifndef SELARI_CLI_COMMAND_LINE_H_
#define SELARI_CLI_COMMAND_LINE_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cli/bench/bench_options.h"
#include "cli/chaos/chaos_options.h"
#include "cli/job_options.h"

namespace selari {

struct TrainCommand {
  JobOptions job;
  bool json = false;
};

struct CoordinatorCommand {
  JobOptions job;
  std::string listen = "127.0.0.1:7070";
  bool json = false;
};

struct ServerCommand {
  std::string coordinator = "127.0.0.1:7070";
  std::string listen = "127.0.0.1:0";
  std::string advertise;  // empty: the address that was bound
  int32_t id = -1;        // -1: the coordinator chooses
  int32_t threads = 0;    // 0: as the job says
};

struct WorkerCommand {
  std::string coordinator = "127.0.0.1:7070";
  std::string data_folder = ".";  // where relative paths of the job start
  int32_t id = -1;                // -1: the coordinator chooses
  int32_t threads = 0;            // 0: as the job says
};

struct StatusCommand {
  std::string coordinator = "127.0.0.1:7070";
  bool watch = false;
  bool json = false;
  std::string output;  // a run's folder to read from; empty: ask
};

struct CheckpointCommand {
  enum class Action { kList, kVerify, kSave };
  Action action = Action::kList;
  std::string path;                            // list, verify
  std::string coordinator = "127.0.0.1:7070";  // save
};

struct DigestCommand {
  std::string path;
};

struct ExportCommand {
  std::string path;
  std::string output;
  std::string format;  // "safetensors" or "npz"; empty: as output ends
  bool slots = false;
};

struct VersionCommand {};

// The command line was answered (--help) or refused: print `text` and exit.
struct ExitNow {
  int exit_code = 0;
  std::string text;
};

using Command =
    std::variant<ExitNow, TrainCommand, CoordinatorCommand, ServerCommand,
                 WorkerCommand, StatusCommand, CheckpointCommand, DigestCommand,
                 ExportCommand, BenchWireCommand, BenchApplyCommand,
                 BenchKernelsCommand, BenchStepCommand, ChaosCommand,
                 VersionCommand>;

Command ParseCommandLine(int argc, const char* const* argv);

}  // namespace selari

#endif  // SELARI_CLI_COMMAND_LINE_H_
