// Subprocess: a server or worker that `selari train` starts.
//
// The child gets a process group of its own, so that Ctrl-C reaches only the
// parent, which ends the run in order; the kernel kills it when the parent
// dies, so that no process is left behind. (The kernel means the thread that
// started it: start children from a thread that lives as long as they do.)
//
// Thread safety: one thread at a time.

#ifndef SELARI_CLI_SUBPROCESS_H_
#define SELARI_CLI_SUBPROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace selari {

class Subprocess {
 public:
  // Runs arguments[0] with `arguments`; its output is appended to `log_path`.
  // Errors name the program or the log and the reason.
  static absl::StatusOr<std::unique_ptr<Subprocess>> Start(
      const std::string& name, const std::vector<std::string>& arguments,
      const std::string& log_path);

  // Kills the child if it still runs, and waits for it.
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  const std::string& name() const { return name_; }
  const std::string& log_path() const { return log_path_; }
  pid_t pid() const { return pid_; }

  // The exit code (128 + n after signal n) once it has ended. Never blocks.
  std::optional<int> Poll();
  // Waits at most `timeout_ms`.
  std::optional<int> WaitFor(int64_t timeout_ms);
  void Terminate();  // SIGTERM

  // The last lines of its log, at most `bytes_max`, for error messages.
  std::string LogTail(int64_t bytes_max) const;
  // The last of them; empty for an empty log.
  std::string LastLogLine() const;

 private:
  Subprocess(std::string name, std::string log_path, pid_t pid)
      : name_(std::move(name)), log_path_(std::move(log_path)), pid_(pid) {}

  const std::string name_;
  const std::string log_path_;
  const pid_t pid_;
  std::optional<int> exit_code_;
};

}  // namespace selari

#endif  // SELARI_CLI_SUBPROCESS_H_
