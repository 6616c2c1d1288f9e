// TrainProcess: a `selari train` that this process has started and follows by
// the events that it prints.
//
// Not thread-safe; start it from a thread that lives as long as it (see
// cli/subprocess.h).

#ifndef SELARI_CLI_CHAOS_TRAIN_PROCESS_H_
#define SELARI_CLI_CHAOS_TRAIN_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "cli/chaos/json_lines.h"
#include "cli/job_options.h"
#include "cli/subprocess.h"

namespace selari {

// Its summary.
struct TrainResult {
  std::string state;  // "done", "stopped" or "failed"
  std::string message;
  std::string digest;  // of the newest checkpoint; empty if there is none
  int64_t steps = 0;
  double seconds = 0;             // from start to summary
  double samples_per_second = 0;  // while training; 0 if not known
};

class TrainProcess {
 public:
  // `program` is a selari binary; what the process says is appended to
  // `log_path`. Errors as Subprocess::Start.
  static absl::StatusOr<std::unique_ptr<TrainProcess>> Start(
      const std::string& program, const JobOptions& job,
      const std::string& log_path);

  // Takes in what it has said by now. Never blocks.
  void Poll();

  // As of the last Poll: the exit code (128 + n after signal n) once it has
  // ended, and all else that it said before.
  std::optional<int> exit_code() const { return exit_code_; }
  // host:port; empty until it is known.
  const std::string& coordinator() const { return coordinator_; }
  const std::optional<TrainResult>& result() const { return result_; }

  pid_t pid() const { return process_->pid(); }
  // SIGTERM: saves and ends.
  void Terminate() { process_->Terminate(); }
  // Why it ended as it did: the summary's sentence, or its last line.
  std::string LastWords() const;

 private:
  TrainProcess(std::unique_ptr<Subprocess> process, const std::string& log_path)
      : process_(std::move(process)), events_(log_path) {}

  const std::unique_ptr<Subprocess> process_;
  JsonLines events_;
  std::optional<int> exit_code_;
  std::string coordinator_;
  std::optional<TrainResult> result_;
};

}  // namespace selari

#endif  // SELARI_CLI_CHAOS_TRAIN_PROCESS_H_
