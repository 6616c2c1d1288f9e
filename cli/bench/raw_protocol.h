// What `selari bench wire` says to its peer over plain TCP: fixed frames of 64
// bytes, little-endian, as both ends are x86-64.
//
// The first connection is for control: kOpen, then kMemory and kClose at will.
// Each further one is for data: kJoin, then kReset, kPush, kPull and kBoth.
// Every request is answered with a RawReply, except that kPull and kBoth are
// answered with weights, without a frame around them.
//
// Thread safety: pure functions, one thread for each direction of a socket.

#ifndef SELARI_CLI_BENCH_RAW_PROTOCOL_H_
#define SELARI_CLI_BENCH_RAW_PROTOCOL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/bench/socket.h"
#include "cli/bench/wire_job.h"

namespace selari {

enum class RawOp : uint32_t {
  kOpen = 1,    // control: begins a session with the shape of the request
  kMemory = 2,  // control: tells the peer's resident memory
  kClose = 3,   // control: ends the session
  kJoin = 4,    // data: this connection is worker `worker` of session `token`
  kReset = 5,   // data: weights and slots are as at the start again
  kPush = 6,    // data: gradients follow; answered when `step` is applied
  kPull = 7,    // data: answered with the weights
  kBoth = 8,    // data: gradients follow; each block of weights that is
                // updated comes back at once
};

// How a server handles a data request.
struct RawManner {
  // Bytes that are received before they are applied: what fits a cache.
  int32_t block_bytes = 1 << 20;
  // kBoth: a second thread sends, so that receiving never waits for it.
  bool own_sender = false;
};

struct RawRequest {
  RawOp op = RawOp::kOpen;
  uint64_t token = 0;  // kJoin: the session that is meant
  WireShape shape;     // kOpen
  int32_t worker = 0;  // kJoin
  int64_t step = 0;    // kPush, kBoth: the number of this update, from 1
  RawManner manner;    // kPush, kBoth
};

struct RawReply {
  uint64_t token = 0;     // kOpen: the session; also the incarnation of its
                          // parameter server
  int32_t grpc_port = 0;  // kOpen: where that listens
  int32_t isa_level = 0;  // kOpen: the peer's IsaLevel
  int64_t rss_bytes = 0;  // kMemory: resident now
  int64_t rss_peak_bytes = 0;    // kMemory: most since kOpen
  int64_t rss_shared_bytes = 0;  // kMemory: of rss_bytes, shared memory
};

absl::Status SendRawRequest(Socket* socket, const RawRequest& request);

// INVALID_ARGUMENT for anything but a request of this version with every field
// in its range; otherwise as Socket::Receive.
absl::StatusOr<RawRequest> ReceiveRawRequest(Socket* socket);

// Tells `status`, cut to 1,024 bytes, instead of `reply` unless it is OK.
absl::Status SendRawReply(Socket* socket, const absl::Status& status,
                          const RawReply& reply);

// The status that was told, INVALID_ARGUMENT when the other end is no bench
// peer of this version, or as Socket::Receive.
absl::StatusOr<RawReply> ReceiveRawReply(Socket* socket);

// SendRawRequest, then ReceiveRawReply.
absl::StatusOr<RawReply> CallRaw(Socket* socket, const RawRequest& request);

// Largest model that a peer takes, in floats: 64 GiB.
constexpr int64_t kRawFloatsMax = int64_t{1} << 34;
constexpr int32_t kRawWorkersMax = 64;
constexpr int32_t kRawBlockBytesMin = 4096;
constexpr int32_t kRawBlockBytesMax = 64 << 20;

}  // namespace selari

#endif  // SELARI_CLI_BENCH_RAW_PROTOCOL_H_
