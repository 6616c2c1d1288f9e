#include "cli/bench/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <memory>
#include <system_error>

#include "common/host_port.h"
#include "common/status.h"
#include "server/rpc/listen_probe.h"

namespace selari {
namespace {

constexpr int64_t kStallLimitMs = 30'000;

std::string Reason(int error) { return std::generic_category().message(error); }

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::StatusOr<AddressList> Resolve(const std::string& address, int flags) {
  SELARI_ASSIGN_OR_RETURN(const HostPort host_port, ParseHostPort(address));
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(host_port.host.c_str(),
                  std::to_string(host_port.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat(address, ": ", gai_strerror(error)));
  }
  return AddressList(found, freeaddrinfo);
}

bool WaitFor(int fd, short events, int64_t timeout_ms) {
  pollfd wait = {fd, events, 0};
  const auto limit = static_cast<int>(std::min<int64_t>(timeout_ms, INT_MAX));
  return poll(&wait, 1, limit) > 0;
}

// 0, or why `fd` could not be connected.
int TryConnect(int fd, const addrinfo& info, int64_t timeout_ms) {
  if (connect(fd, info.ai_addr, info.ai_addrlen) == 0) {
    return 0;
  }
  if (errno != EINPROGRESS) {
    return errno;
  }
  if (!WaitFor(fd, POLLOUT, timeout_ms)) {
    return ETIMEDOUT;
  }
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void SetOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

// A peer whose machine vanished is noticed within 20 s, also while nothing is
// asked of it.
void SetKeepalive(int fd) {
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 2);
}

}  // namespace

absl::StatusOr<Socket> Socket::Connect(const std::string& address,
                                       int64_t timeout_ms) {
  SELARI_ASSIGN_OR_RETURN(const AddressList list, Resolve(address, 0));
  int error = EADDRNOTAVAIL;
  for (const addrinfo* info = list.get(); info != nullptr;
       info = info->ai_next) {
    const int fd = socket(info->ai_family,
                          info->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                          info->ai_protocol);
    error = fd < 0 ? errno : TryConnect(fd, *info, timeout_ms);
    if (fd >= 0 && error == 0) {
      return Socket(fd, address);
    }
    if (fd >= 0) {
      close(fd);
    }
  }
  return absl::UnavailableError(
      absl::StrCat(address, " does not answer: ", Reason(error)));
}

Socket::Socket(int fd, std::string peer) : fd_(fd), peer_(std::move(peer)) {
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) & ~O_NONBLOCK);
  SetOption(fd_, IPPROTO_TCP, TCP_NODELAY, 1);
  SetKeepalive(fd_);
  SetStallLimit(kStallLimitMs);
}

Socket::~Socket() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

absl::Status Socket::Error(const char* verb) const {
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    return absl::DeadlineExceededError(
        absl::StrCat(peer_, " is connected but stands still"));
  }
  return absl::UnavailableError(absl::StrCat(
      "the connection to ", peer_, " broke while ", verb, ": ", Reason(errno)));
}

absl::Status Socket::Send(const void* data, int64_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent =
        send(fd_, next, static_cast<size_t>(bytes), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) {
      return Error("sending");
    }
    const int64_t moved = std::max<ssize_t>(sent, 0);
    next += moved;
    bytes -= moved;
  }
  return absl::OkStatus();
}

absl::Status Socket::Receive(void* data, int64_t bytes) {
  char* next = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t received =
        recv(fd_, next, static_cast<size_t>(bytes), MSG_WAITALL);
    if (received == 0) {
      return absl::UnavailableError(
          absl::StrCat(peer_, " closed the connection"));
    }
    if (received < 0 && errno != EINTR) {
      return Error("receiving");
    }
    const int64_t moved = std::max<ssize_t>(received, 0);
    next += moved;
    bytes -= moved;
  }
  return absl::OkStatus();
}

void Socket::SetStallLimit(int64_t ms) {
  timeval limit = {};
  limit.tv_sec = ms / 1000;
  limit.tv_usec = ms % 1000 * 1000;
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

bool Socket::WaitReadable(int64_t timeout_ms) const {
  return WaitFor(fd_, POLLIN, timeout_ms);
}

void Socket::Shutdown() { shutdown(fd_, SHUT_RDWR); }

absl::StatusOr<Listener> Listener::Listen(const std::string& address) {
  SELARI_RETURN_IF_ERROR(ProbeListen(address));
  SELARI_ASSIGN_OR_RETURN(const AddressList list, Resolve(address, AI_PASSIVE));
  const addrinfo& info = *list;
  const int fd =
      socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, info.ai_protocol);
  if (fd >= 0) {
    SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  }
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  constexpr int kBacklog = 64;
  if (fd < 0 || bind(fd, info.ai_addr, info.ai_addrlen) != 0 ||
      listen(fd, kBacklog) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    const int error = errno;
    if (fd >= 0) {
      close(fd);
    }
    return absl::FailedPreconditionError(
        absl::StrCat("cannot listen on ", address, ": ", Reason(error)));
  }
  // The port stands at the same place for both families.
  const auto* in = reinterpret_cast<const sockaddr_in*>(&bound);
  return Listener(fd, ntohs(in->sin_port));
}

Listener::~Listener() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

absl::StatusOr<Socket> Listener::Accept() {
  const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot take a connection: ", Reason(errno)));
  }
  return Socket(fd, "the bench client");
}

}  // namespace selari
