// "host:port" as the command line and the job write addresses.
//
// Thread safety: a pure function.

#ifndef SELARI_COMMON_HOST_PORT_H_
#define SELARI_COMMON_HOST_PORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace selari {

struct HostPort {
  std::string host;  // without the brackets of an IPv6 address
  int port = 0;      // in [0, 65535]
};

// Takes "host:port" apart; does not look the name up. INVALID_ARGUMENT with the
// address unless both are there and the port is a number in [0, 65535]: gRPC
// would take port 443 for a missing one, and 34463 for 99999.
absl::StatusOr<HostPort> ParseHostPort(absl::string_view address);

}  // namespace selari

#endif  // SELARI_COMMON_HOST_PORT_H_
