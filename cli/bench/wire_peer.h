// WirePeer: the process at the other end of `selari bench wire`. Serves one
// client after the other; each gets servers of its own (wire_server.h), so
// that none finds what an earlier one left.
//
// Two ports: raw TCP and control on the given one, gRPC on the one after it
// (or, with port 0, any two).
//
// Thread safety: one thread calls.

#ifndef SELARI_CLI_BENCH_WIRE_PEER_H_
#define SELARI_CLI_BENCH_WIRE_PEER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cli/bench/raw_protocol.h"
#include "cli/bench/socket.h"
#include "cli/bench/wire_server.h"
#include "common/stop_token.h"

namespace selari {

class WirePeer {
 public:
  // Listens on "host:port". `log` is told, for people, who comes and goes.
  // Errors as Listener::Listen.
  static absl::StatusOr<std::unique_ptr<WirePeer>> Start(
      const std::string& address, std::function<void(absl::string_view)> log);

  // host:port with the port in use.
  const std::string& address() const { return address_; }

  // Serves until a stop is requested.
  void Run(const StopToken& stop);

 private:
  WirePeer(Listener listener, const std::string& host, std::string grpc_address,
           std::function<void(absl::string_view)> log);

  void TakeConnection();
  void Open(Socket socket, const RawRequest& request);
  void Join(Socket socket, const RawRequest& request);
  // One request of the client that is being served.
  void TakeControl();
  void EndSession(absl::string_view reason);

  Listener listener_;
  const std::string address_;
  const std::string grpc_address_;
  const std::function<void(absl::string_view)> log_;
  // The session; both or neither.
  std::optional<Socket> control_;
  std::unique_ptr<WireServer> server_;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_WIRE_PEER_H_
