#include "server/rpc/listen_probe.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "common/status.h"

namespace selari {
namespace {

struct HostPort {
  std::string host;
  std::string port;
};

absl::StatusOr<HostPort> Split(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("address \"", address, "\" is not host:port"));
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return HostPort{host, address.substr(colon + 1)};
}

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case EADDRINUSE:
      return absl::StatusCode::kFailedPrecondition;
    case EACCES:
    case EPERM:
      return absl::StatusCode::kPermissionDenied;
    case EADDRNOTAVAIL:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// 0, or the errno of the call that failed.
int TryListen(const addrinfo& info) {
  const int fd =
      socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC, info.ai_protocol);
  if (fd < 0) {
    return errno;
  }
  // As gRPC does: a connection in TIME_WAIT does not hold the port.
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  const bool listening =
      bind(fd, info.ai_addr, info.ai_addrlen) == 0 && listen(fd, 1) == 0;
  const int error = listening ? 0 : errno;
  close(fd);
  return error;
}

}  // namespace

absl::Status CheckHostPort(const std::string& address) {
  return Split(address).status();
}

absl::Status ProbeListen(const std::string& address) {
  SELARI_ASSIGN_OR_RETURN(const HostPort host_port, Split(address));
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int lookup =
      getaddrinfo(host_port.host.empty() ? nullptr : host_port.host.c_str(),
                  host_port.port.c_str(), &hints, &found);
  if (lookup != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on ", address, ": ", gai_strerror(lookup)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found,
                                                             freeaddrinfo);
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    const int error = TryListen(*info);
    if (error != 0) {
      return absl::Status(CodeOf(error),
                          absl::StrCat("cannot listen on ", address, ": ",
                                       std::generic_category().message(error),
                                       " (errno ", error, ")"));
    }
  }
  return absl::OkStatus();
}

}  // namespace selari
