#include "cli/bench/raw_protocol.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/status.h"

namespace selari {
namespace {

constexpr uint64_t kMagic = 0x45524957494C4553;  // "SELIWIRE"
constexpr uint32_t kVersion = 1;
constexpr uint32_t kTextBytesMax = 1024;

struct RequestFrame {
  uint64_t magic;
  uint32_t version;
  uint32_t op;
  uint64_t token;
  int64_t floats;
  int64_t step;
  int32_t workers;
  int32_t worker;
  int32_t shards;
  uint32_t optimizer;
  int32_t block_bytes;
  uint32_t own_sender;
};
static_assert(sizeof(RequestFrame) == 64, "both ends agree on 64 bytes");

struct ReplyFrame {
  uint64_t magic;
  uint32_t version;
  uint32_t status_code;
  uint32_t text_bytes;  // that follow the frame
  int32_t grpc_port;
  uint64_t token;
  int64_t rss_bytes;
  int64_t rss_peak_bytes;
  int32_t isa_level;
  uint32_t reserved;
  int64_t rss_shared_bytes;
};
static_assert(sizeof(ReplyFrame) == 64, "both ends agree on 64 bytes");

absl::Status CheckInRange(const char* name, int64_t value, int64_t least,
                          int64_t most) {
  if (value >= least && value <= most) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("a bench request with ", name,
                                                 " ", value, ", must be in [",
                                                 least, ", ", most, "]"));
}

absl::Status CheckVersion(uint64_t magic, uint32_t version,
                          const Socket& socket) {
  if (magic != kMagic) {
    return absl::InvalidArgumentError(absl::StrCat(
        socket.peer(), " does not speak the protocol of `selari bench wire`"));
  }
  if (version != kVersion) {
    return absl::InvalidArgumentError(absl::StrCat(
        socket.peer(), " is another version of selari (bench protocol ",
        version, ", here ", kVersion, ")"));
  }
  return absl::OkStatus();
}

absl::Status CheckOpen(const WireShape& shape, uint32_t optimizer) {
  SELARI_RETURN_IF_ERROR(
      CheckInRange("floats", shape.floats, 1, kRawFloatsMax));
  SELARI_RETURN_IF_ERROR(
      CheckInRange("workers", shape.workers, 1, kRawWorkersMax));
  SELARI_RETURN_IF_ERROR(CheckInRange("shards", shape.shards, 1, 4096));
  return CheckInRange("optimizer", optimizer, 0, 1);
}

absl::Status CheckUpdate(const RawRequest& request) {
  SELARI_RETURN_IF_ERROR(
      CheckInRange("step", request.step, 1, int64_t{1} << 40));
  SELARI_RETURN_IF_ERROR(CheckInRange("block_bytes", request.manner.block_bytes,
                                      kRawBlockBytesMin, kRawBlockBytesMax));
  return CheckInRange("block_bytes modulo 4", request.manner.block_bytes % 4, 0,
                      0);
}

}  // namespace

absl::Status SendRawRequest(Socket* socket, const RawRequest& request) {
  RequestFrame frame = {};
  frame.magic = kMagic;
  frame.version = kVersion;
  frame.op = static_cast<uint32_t>(request.op);
  frame.token = request.token;
  frame.floats = request.shape.floats;
  frame.step = request.step;
  frame.workers = request.shape.workers;
  frame.worker = request.worker;
  frame.shards = request.shape.shards;
  frame.optimizer = static_cast<uint32_t>(request.shape.optimizer);
  frame.block_bytes = request.manner.block_bytes;
  frame.own_sender = request.manner.own_sender ? 1 : 0;
  return socket->Send(&frame, sizeof(frame));
}

absl::StatusOr<RawRequest> ReceiveRawRequest(Socket* socket) {
  RequestFrame frame = {};
  // Whoever speaks something else may say less than a frame: look at the
  // first words alone.
  SELARI_RETURN_IF_ERROR(socket->Receive(&frame, 12));
  SELARI_RETURN_IF_ERROR(CheckVersion(frame.magic, frame.version, *socket));
  SELARI_RETURN_IF_ERROR(socket->Receive(&frame.op, sizeof(frame) - 12));
  SELARI_RETURN_IF_ERROR(CheckInRange("op", frame.op,
                                      static_cast<uint32_t>(RawOp::kOpen),
                                      static_cast<uint32_t>(RawOp::kBoth)));
  RawRequest request;
  request.op = static_cast<RawOp>(frame.op);
  request.token = frame.token;
  request.shape.floats = frame.floats;
  request.shape.workers = frame.workers;
  request.shape.shards = frame.shards;
  request.shape.optimizer = static_cast<WireOptimizer>(frame.optimizer);
  request.worker = frame.worker;
  request.step = frame.step;
  request.manner.block_bytes = frame.block_bytes;
  request.manner.own_sender = frame.own_sender != 0;
  if (request.op == RawOp::kOpen) {
    SELARI_RETURN_IF_ERROR(CheckOpen(request.shape, frame.optimizer));
  } else if (request.op == RawOp::kJoin) {
    SELARI_RETURN_IF_ERROR(
        CheckInRange("worker", request.worker, 0, kRawWorkersMax - 1));
  } else if (request.op == RawOp::kPush || request.op == RawOp::kBoth) {
    SELARI_RETURN_IF_ERROR(CheckUpdate(request));
  }
  return request;
}

absl::Status SendRawReply(Socket* socket, const absl::Status& status,
                          const RawReply& reply) {
  const absl::string_view text = status.message().substr(0, kTextBytesMax);
  ReplyFrame frame = {};
  frame.magic = kMagic;
  frame.version = kVersion;
  frame.status_code = static_cast<uint32_t>(status.code());
  frame.text_bytes = static_cast<uint32_t>(text.size());
  frame.grpc_port = reply.grpc_port;
  frame.token = reply.token;
  frame.rss_bytes = reply.rss_bytes;
  frame.rss_peak_bytes = reply.rss_peak_bytes;
  frame.rss_shared_bytes = reply.rss_shared_bytes;
  frame.isa_level = reply.isa_level;
  SELARI_RETURN_IF_ERROR(socket->Send(&frame, sizeof(frame)));
  return socket->Send(text.data(), static_cast<int64_t>(text.size()));
}

absl::StatusOr<RawReply> ReceiveRawReply(Socket* socket) {
  ReplyFrame frame = {};
  SELARI_RETURN_IF_ERROR(socket->Receive(&frame, 12));
  SELARI_RETURN_IF_ERROR(CheckVersion(frame.magic, frame.version, *socket));
  SELARI_RETURN_IF_ERROR(
      socket->Receive(&frame.status_code, sizeof(frame) - 12));
  std::string text(std::min(frame.text_bytes, kTextBytesMax), '\0');
  SELARI_RETURN_IF_ERROR(
      socket->Receive(text.data(), static_cast<int64_t>(text.size())));
  if (frame.status_code != 0) {
    return absl::Status(static_cast<absl::StatusCode>(frame.status_code),
                        absl::StrCat(socket->peer(), ": ", text));
  }
  RawReply reply;
  reply.token = frame.token;
  reply.grpc_port = frame.grpc_port;
  reply.isa_level = frame.isa_level;
  reply.rss_bytes = frame.rss_bytes;
  reply.rss_peak_bytes = frame.rss_peak_bytes;
  reply.rss_shared_bytes = frame.rss_shared_bytes;
  return reply;
}

absl::StatusOr<RawReply> CallRaw(Socket* socket, const RawRequest& request) {
  SELARI_RETURN_IF_ERROR(SendRawRequest(socket, request));
  return ReceiveRawReply(socket);
}

}  // namespace selari
