#include "cli/bench/wire_peer.h"

#include <poll.h>

#include <utility>

#include "cli/bench/process_memory.h"
#include "common/host_port.h"
#include "common/human.h"
#include "common/isa.h"
#include "common/status.h"

namespace selari {
namespace {

// How often the peer looks whether it shall stop.
constexpr int kPollMs = 100;
// A connection says what it wants at once; meanwhile nobody else is served.
constexpr int64_t kFirstWordsMs = 2000;

}  // namespace

absl::StatusOr<std::unique_ptr<WirePeer>> WirePeer::Start(
    const std::string& address, std::function<void(absl::string_view)> log) {
  SELARI_ASSIGN_OR_RETURN(const HostPort host_port, ParseHostPort(address));
  if (host_port.port == 65535) {
    return absl::InvalidArgumentError(absl::StrCat(
        address, ": the port after it, for gRPC, would be out of range"));
  }
  SELARI_ASSIGN_OR_RETURN(Listener listener, Listener::Listen(address));
  const std::string host = address.substr(0, address.rfind(':'));
  const int grpc_port = host_port.port == 0 ? 0 : host_port.port + 1;
  return std::unique_ptr<WirePeer>(
      new WirePeer(std::move(listener), host,
                   absl::StrCat(host, ":", grpc_port), std::move(log)));
}

WirePeer::WirePeer(Listener listener, const std::string& host,
                   std::string grpc_address,
                   std::function<void(absl::string_view)> log)
    : listener_(std::move(listener)),
      address_(absl::StrCat(host, ":", listener_.port())),
      grpc_address_(std::move(grpc_address)),
      log_(std::move(log)) {}

void WirePeer::Run(const StopToken& stop) {
  while (!stop.stop_requested()) {
    pollfd waits[2] = {{listener_.fd(), POLLIN, 0}, {-1, POLLIN, 0}};
    if (control_.has_value()) {
      waits[1].fd = control_->fd();
    }
    if (poll(waits, 2, kPollMs) <= 0) {
      continue;
    }
    if (waits[1].revents != 0) {
      TakeControl();
    }
    if (waits[0].revents != 0) {
      TakeConnection();
    }
  }
  if (control_.has_value()) {
    EndSession("was stopped");
  }
}

void WirePeer::TakeConnection() {
  absl::StatusOr<Socket> socket = listener_.Accept();
  if (!socket.ok()) {
    return;
  }
  socket->SetStallLimit(kFirstWordsMs);
  const absl::StatusOr<RawRequest> request = ReceiveRawRequest(&*socket);
  if (!request.ok()) {
    SendRawReply(&*socket, request.status(), {}).IgnoreError();
    log_(absl::StrCat("refused a connection: ", request.status().message()));
    return;
  }
  constexpr int64_t kStallLimitMs = 30'000;
  socket->SetStallLimit(kStallLimitMs);
  if (request->op == RawOp::kOpen) {
    Open(*std::move(socket), *request);
  } else {
    Join(*std::move(socket), *request);
  }
}

void WirePeer::Open(Socket socket, const RawRequest& request) {
  if (control_.has_value()) {
    SendRawReply(&socket,
                 absl::FailedPreconditionError(
                     "busy with another client; try again when it has ended"),
                 {})
        .IgnoreError();
    return;
  }
  ResetMemoryPeak();
  absl::StatusOr<std::unique_ptr<WireServer>> server =
      WireServer::Start(request.shape, grpc_address_);
  RawReply reply;
  if (server.ok()) {
    reply.token = (*server)->token();
    reply.grpc_port = (*server)->grpc_port();
    reply.isa_level = static_cast<int32_t>(DetectIsaLevel());
  }
  const absl::Status sent = SendRawReply(&socket, server.status(), reply);
  if (!server.ok() || !sent.ok()) {
    log_(
        absl::StrCat("could not serve a client: ",
                     server.ok() ? sent.message() : server.status().message()));
    return;
  }
  server_ = *std::move(server);
  control_ = std::move(socket);
  log_(absl::StrCat("a client measures ", HumanBytes(request.shape.bytes()),
                    " with ", request.shape.workers, " worker",
                    request.shape.workers == 1 ? "" : "s"));
}

void WirePeer::Join(Socket socket, const RawRequest& request) {
  if (server_ == nullptr || request.op != RawOp::kJoin ||
      request.token != server_->token()) {
    SendRawReply(&socket,
                 absl::FailedPreconditionError("no such session is open"), {})
        .IgnoreError();
    return;
  }
  const absl::Status joined =
      server_->raw()->Join(request.worker, std::move(socket));
  if (!joined.ok()) {
    log_(absl::StrCat("refused a connection: ", joined.message()));
  }
}

void WirePeer::TakeControl() {
  const absl::StatusOr<RawRequest> request = ReceiveRawRequest(&*control_);
  if (!request.ok()) {
    EndSession(request.status().message());
    return;
  }
  RawReply reply;
  if (request->op == RawOp::kMemory) {
    const ProcessMemory memory = ReadProcessMemory();
    reply.rss_bytes = memory.rss_bytes;
    reply.rss_peak_bytes = memory.rss_peak_bytes;
    reply.rss_shared_bytes = memory.rss_shared_bytes;
    SendRawReply(&*control_, absl::OkStatus(), reply).IgnoreError();
  } else if (request->op == RawOp::kClose) {
    // Answered when all is gone, so that the next session finds the port free.
    Socket control = *std::move(control_);
    EndSession("is done");
    SendRawReply(&control, absl::OkStatus(), reply).IgnoreError();
  } else {
    EndSession("sent a request that is not for control");
  }
}

void WirePeer::EndSession(absl::string_view reason) {
  control_.reset();
  server_.reset();
  log_(absl::StrCat("the client's session has ended: ", reason));
}

}  // namespace selari
