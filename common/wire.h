// Frames of ParameterService.StreamParameters: the one place where requests
// and replies become bytes and back. On the wire a frame is a plain
// StreamParametersRequest or -Response; here it is built from grpc::Slices, so
// that tensor memory goes out by reference, without a copy.
//
// Copies per tensor byte: none, neither when sending nor when receiving: the
// FloatSlices point into what gRPC received.
//
// A stream whose two ends share memory says where in it a tensor lies, and the
// tensor itself does not travel. Null: they share none.
//
// Pure functions: safe from any thread.

#ifndef SELARI_COMMON_WIRE_H_
#define SELARI_COMMON_WIRE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/shard_message.h"
#include "common/shared_memory.h"
#include "grpcpp/support/byte_buffer.h"

namespace selari {

// Frames are cut at about this size: large enough that framing costs nothing,
// small enough that the receiver works on one while the next arrives. Room for
// four whole chunks.
constexpr int64_t kFrameBytesMax = (1 << 20) + (1 << 10);

struct StreamHello {
  std::string job_id;
  WorkerIdentity worker;
  int64_t shard_map_version = 0;
  std::optional<SharedMemoryOffer> shared_memory = std::nullopt;
};

struct StreamHelloReply {
  uint64_t server_incarnation = 0;
  std::vector<int32_t> shards;
  int64_t window_bytes = 0;
  bool shared_memory_opened = false;
};

// A request frame that asks for nothing.
grpc::ByteBuffer EncodeHeartbeat();

grpc::ByteBuffer EncodeHello(const StreamHello& hello);
grpc::ByteBuffer EncodeHelloReply(const StreamHelloReply& reply);

struct EncodedFrame {
  grpc::ByteBuffer bytes;
  // Sum of WireBytes over what the frame holds.
  int64_t wire_bytes = 0;
  // Tensor bytes that the frame only names.
  int64_t shared_bytes = 0;
};

// Takes requests (replies) from the front of `queue`, at least one and then as
// many as fit in `bytes_max`. REQUIRES: the queue is not empty.
EncodedFrame EncodeRequests(int64_t bytes_max, std::deque<ShardRequest>* queue,
                            const SharedMemory* shared = nullptr);
EncodedFrame EncodeReplies(int64_t bytes_max, std::deque<ShardReply>* queue,
                           const SharedMemory* shared = nullptr);

// What a request or reply counts for in queues and frames, in bytes; at least
// what it takes on the wire.
int64_t WireBytes(const ShardRequest& request,
                  const SharedMemory* shared = nullptr);
int64_t WireBytes(const ShardReply& reply,
                  const SharedMemory* shared = nullptr);

struct RequestFrame {
  std::optional<StreamHello> hello;
  // Pushes, then pulls, then totals, each in the order of the frame.
  std::vector<ShardRequest> requests;
  // Pushes and pulls with an impossible field; they name no memory.
  std::vector<RequestError> refused;
};

struct ReplyFrame {
  std::optional<StreamHelloReply> hello;
  std::vector<ShardReply> replies;
  // Of the weights that lie in shared memory.
  int64_t shared_bytes = 0;
};

// INVALID_ARGUMENT when the bytes are no message, when there are over 2^16
// items, or when a field without a refusal of its own is impossible.
absl::StatusOr<RequestFrame> DecodeRequests(
    const grpc::ByteBuffer& bytes,
    const std::shared_ptr<SharedMemory>& shared = nullptr);
absl::StatusOr<ReplyFrame> DecodeReplies(
    const grpc::ByteBuffer& bytes,
    const std::shared_ptr<SharedMemory>& shared = nullptr);

}  // namespace selari

#endif  // SELARI_COMMON_WIRE_H_
