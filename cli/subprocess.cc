#include "cli/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "common/status.h"

namespace selari {
namespace {

// Of a log, to find its last line.
constexpr int64_t kLastLineBytes = 600;

int ExitCode(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    return 128 + WTERMSIG(wait_status);
  }
  return WEXITSTATUS(wait_status);
}

// Between fork and exec only async-signal-safe calls are allowed: the parent
// has threads. Reports errno through `error_fd`, which exec closes.
[[noreturn]] void RunChild(char* const* arguments, int log_fd, pid_t parent,
                           int error_fd) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);  // the parent died before prctl
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null_fd = open("/dev/null", O_RDONLY);
  if (null_fd >= 0) {
    dup2(null_fd, STDIN_FILENO);
  }
  dup2(log_fd, STDOUT_FILENO);
  dup2(log_fd, STDERR_FILENO);
  execv(arguments[0], arguments);
  const int error = errno;
  const ssize_t written = write(error_fd, &error, sizeof(error));
  _exit(written == sizeof(error) ? 127 : 126);
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) {
      close(fd_);
    }
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  void Close() { close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Subprocess>> Subprocess::Start(
    const std::string& name, const std::vector<std::string>& arguments,
    const std::string& log_path) {
  const FileDescriptor log(
      open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (log.get() < 0) {
    return absl::InternalError(absl::StrCat("cannot write the log of ", name,
                                            ", ", log_path, ": ",
                                            std::strerror(errno)));
  }
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::InternalError(
        absl::StrCat("cannot start ", name, ": ", std::strerror(errno)));
  }
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    RunChild(argv.data(), log.get(), parent, write_end.get());
  }
  if (pid < 0) {
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot start ", name, ": ", std::strerror(errno)));
  }
  write_end.Close();
  std::unique_ptr<Subprocess> child(new Subprocess(name, log_path, pid));
  int error = 0;
  if (read(read_end.get(), &error, sizeof(error)) == sizeof(error)) {
    return absl::InternalError(absl::StrCat("cannot start ", name, " as ",
                                            arguments[0], ": ",
                                            std::strerror(error)));
  }
  return child;
}

Subprocess::~Subprocess() {
  if (!Poll().has_value()) {
    kill(pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
}

std::optional<int> Subprocess::Poll() {
  if (!exit_code_.has_value()) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = ExitCode(status);
    }
  }
  return exit_code_;
}

std::optional<int> Subprocess::WaitFor(int64_t timeout_ms) {
  if (Poll().has_value()) {
    return exit_code_;
  }
  const FileDescriptor handle(
      static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (handle.get() >= 0) {
    pollfd wait = {handle.get(), POLLIN, 0};
    poll(&wait, 1, static_cast<int>(timeout_ms));
  }
  return Poll();
}

void Subprocess::Terminate() {
  if (!Poll().has_value()) {
    kill(pid_, SIGTERM);
  }
}

std::string Subprocess::LastLogLine() const {
  const std::string tail = LogTail(kLastLineBytes);
  const absl::string_view text = absl::StripTrailingAsciiWhitespace(tail);
  return std::string(text.substr(text.rfind('\n') + 1));
}

std::string Subprocess::LogTail(int64_t bytes_max) const {
  const FileDescriptor log(open(log_path_.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (log.get() < 0 || fstat(log.get(), &info) != 0) {
    return "";
  }
  const off_t begin = info.st_size > bytes_max ? info.st_size - bytes_max : 0;
  std::string text(static_cast<size_t>(info.st_size - begin), '\0');
  const ssize_t count = pread(log.get(), text.data(), text.size(), begin);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return text;
}

}  // namespace selari
