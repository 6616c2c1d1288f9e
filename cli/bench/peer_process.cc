#include "cli/bench/peer_process.h"

#include <stdlib.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "common/clock.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr int64_t kStartTimeoutMs = 20'000;
constexpr int64_t kPollMs = 10;
constexpr int64_t kLogTailBytes = 600;

// An empty file that only this process knows.
absl::StatusOr<std::string> MakeLogFile() {
  const char* const folder = getenv("TMPDIR");
  std::string path =
      absl::StrCat(folder != nullptr ? folder : "/tmp", "/selari-bench-XXXXXX");
  const int fd = mkstemp(path.data());
  if (fd < 0) {
    return absl::InternalError(
        absl::StrCat("cannot make a log file as ", path));
  }
  close(fd);
  return path;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerProcess>> PeerProcess::Start(
    const std::string& program) {
  SELARI_ASSIGN_OR_RETURN(const std::string log_path, MakeLogFile());
  absl::StatusOr<std::unique_ptr<Subprocess>> process = Subprocess::Start(
      "the bench peer", {program, "bench", "wire", "--listen", "127.0.0.1:0"},
      log_path);
  if (!process.ok()) {
    unlink(log_path.c_str());
    return process.status();
  }
  std::unique_ptr<PeerProcess> peer(
      new PeerProcess(*std::move(process), log_path));
  SELARI_RETURN_IF_ERROR(peer->WaitForAddress());
  return peer;
}

PeerProcess::~PeerProcess() { unlink(log_path_.c_str()); }

absl::Status PeerProcess::WaitForAddress() {
  const SystemClock clock;
  const int64_t deadline_ms = clock.NowMs() + kStartTimeoutMs;
  while (clock.NowMs() < deadline_ms) {
    const bool ended = process_->WaitFor(kPollMs).has_value();
    const std::string log = process_->LogTail(kLogTailBytes);
    const size_t found = log.find(kPeerListensOn);
    const size_t end =
        found == std::string::npos
            ? found
            : log.find_first_of(" \n", found + sizeof(kPeerListensOn) - 1);
    if (end != std::string::npos) {
      const size_t begin = found + sizeof(kPeerListensOn) - 1;
      address_ = log.substr(begin, end - begin);
      return absl::OkStatus();
    }
    if (ended) {
      return Explain(absl::UnavailableError("the bench peer did not start"));
    }
  }
  return absl::DeadlineExceededError(absl::StrCat(
      "the bench peer did not listen within ", kStartTimeoutMs / 1000, " s"));
}

absl::Status PeerProcess::Explain(const absl::Status& status) {
  // Its end may be a moment behind that of its connections.
  constexpr int64_t kEndMs = 200;
  const std::optional<int> code = process_->WaitFor(kEndMs);
  if (status.ok() || !code.has_value()) {
    return status;
  }
  const std::string log(
      absl::StripAsciiWhitespace(process_->LogTail(kLogTailBytes)));
  return absl::Status(
      status.code(),
      absl::StrCat("the peer process ended with exit code ", *code, " (",
                   log.substr(log.rfind('\n') + 1), "): ", status.message()));
}

}  // namespace selari
