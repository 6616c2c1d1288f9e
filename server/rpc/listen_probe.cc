#include "server/rpc/listen_probe.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include "common/host_port.h"
#include "common/status.h"

namespace selari {
namespace {

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
  return ParseHostPort(address).status();
}

absl::Status ProbeListen(const std::string& address) {
  SELARI_ASSIGN_OR_RETURN(const HostPort host_port, ParseHostPort(address));
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int lookup =
      getaddrinfo(host_port.host.c_str(),
                  std::to_string(host_port.port).c_str(), &hints, &found);
  if (lookup != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on ", address, ": ", gai_strerror(lookup)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found,
                                                             freeaddrinfo);
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    const int error = TryListen(*info);
    if (error != 0) {
      return absl::Status(
          CodeOf(error),
          absl::StrCat("cannot listen on ", address, ": ",
                       std::generic_category().message(error), " (errno ",
                       error, ")",
                       error == EADDRINUSE ? "; choose another port, or 0 for "
                                             "a free one"
                                           : ""));
    }
  }
  return absl::OkStatus();
}

}  // namespace selari
