// Socket and Listener: blocking TCP with a bound on every wait.
//
// Thread safety: one thread sends and one receives on a Socket at a time;
// Shutdown from any thread, which ends both.

#ifndef SELARI_CLI_BENCH_SOCKET_H_
#define SELARI_CLI_BENCH_SOCKET_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace selari {

class Socket {
 public:
  // Dials "host:port", waits at most `timeout_ms`. UNAVAILABLE when nobody
  // answers, with the address and the system's reason.
  static absl::StatusOr<Socket> Connect(const std::string& address,
                                        int64_t timeout_ms);

  // Takes over a connected socket; `peer` names it in messages.
  Socket(int fd, std::string peer);
  ~Socket();
  Socket(Socket&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), peer_(std::move(other.peer_)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(peer_, other.peer_);
    return *this;
  }

  // Either ends with DEADLINE_EXCEEDED when no byte moved for the limit of
  // SetStallLimit, or UNAVAILABLE when the connection is lost.
  absl::Status Send(const void* data, int64_t bytes);
  absl::Status Receive(void* data, int64_t bytes);

  // How long one wait for the peer may take; 0: for ever. 30 s at first.
  void SetStallLimit(int64_t ms);

  // Waits until there is something to receive, or the peer has gone, for
  // `timeout_ms` at most; -1: for ever.
  bool WaitReadable(int64_t timeout_ms) const;

  // Ends the connection; whoever sends or receives returns with an error.
  void Shutdown();

  int fd() const { return fd_; }
  const std::string& peer() const { return peer_; }

 private:
  absl::Status Error(const char* verb) const;

  int fd_;
  std::string peer_;
};

class Listener {
 public:
  // Listens on "host:port", port 0: any free one. Errors as ProbeListen
  // (server/rpc/listen_probe.h).
  static absl::StatusOr<Listener> Listen(const std::string& address);
  ~Listener();
  Listener(Listener&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}
  Listener& operator=(Listener&&) = delete;

  int port() const { return port_; }
  int fd() const { return fd_; }

  // The next connection; waits for it.
  absl::StatusOr<Socket> Accept();

 private:
  Listener(int fd, int port) : fd_(fd), port_(port) {}

  int fd_;
  int port_;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_SOCKET_H_
