// Why an address cannot be listened on: gRPC itself only says that it failed.

#ifndef SELARI_SERVER_RPC_LISTEN_PROBE_H_
#define SELARI_SERVER_RPC_LISTEN_PROBE_H_

#include <string>

#include "absl/status/status.h"

namespace selari {

// INVALID_ARGUMENT unless `address` is host:port with both there: gRPC would
// listen on port 443 without one.
absl::Status CheckHostPort(const std::string& address);

// Tries to listen on "host:port" for a moment. FAILED_PRECONDITION (in use),
// PERMISSION_DENIED, INVALID_ARGUMENT (no such address),
// UNAVAILABLE (anything else) with the address and errno in the message; OK
// when it works now. Blocks while a name is looked up.
absl::Status ProbeListen(const std::string& address);

}  // namespace selari

#endif  // SELARI_SERVER_RPC_LISTEN_PROBE_H_
