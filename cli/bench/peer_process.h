// PeerProcess: the peer of `selari bench wire` as a second process on this
// machine, on loopback. It ends with this object, and with this process.
//
// Thread safety: one thread at a time; see subprocess.h about the thread that
// starts it.

#ifndef SELARI_CLI_BENCH_PEER_PROCESS_H_
#define SELARI_CLI_BENCH_PEER_PROCESS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/subprocess.h"

namespace selari {

class PeerProcess {
 public:
  // Runs `program` bench wire --listen 127.0.0.1:0 and waits, a few seconds
  // at most, until it listens.
  static absl::StatusOr<std::unique_ptr<PeerProcess>> Start(
      const std::string& program);
  ~PeerProcess();

  const std::string& address() const { return address_; }

  // `status`, with how the process ended if it has: why a connection broke.
  absl::Status Explain(const absl::Status& status);

 private:
  PeerProcess(std::unique_ptr<Subprocess> process, std::string log_path)
      : process_(std::move(process)), log_path_(std::move(log_path)) {}

  // Reads the address from the log.
  absl::Status WaitForAddress();

  const std::unique_ptr<Subprocess> process_;
  const std::string log_path_;
  std::string address_;
};

// What the peer's process prints before its address.
constexpr char kPeerListensOn[] = "bench peer listens on ";

}  // namespace selari

#endif  // SELARI_CLI_BENCH_PEER_PROCESS_H_
