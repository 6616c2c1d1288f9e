// ByteStreamService: streams of bytes over gRPC with nothing behind them, to
// tell what gRPC itself costs from what Selari does on top.
//
// One bidirectional method takes and gives raw frames. What it does with them
// is said by the call's metadata (names below):
//
//   echo    each frame comes back as it is
//   sink    frames are dropped; an empty one is the answer once `bytes` came
//   source  `bytes` are sent in frames of `frame_bytes`, then the call ends
//
// Thread safety: all methods from any thread.

#ifndef SELARI_CLI_BENCH_BYTE_STREAM_SERVICE_H_
#define SELARI_CLI_BENCH_BYTE_STREAM_SERVICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "grpcpp/impl/service_type.h"
#include "grpcpp/support/byte_buffer.h"

namespace selari {

constexpr char kByteStreamMethod[] = "/selari.bench.ByteStream/Stream";
constexpr char kByteStreamModeKey[] = "selari-mode";
constexpr char kByteStreamBytesKey[] = "selari-bytes";
constexpr char kByteStreamFrameKey[] = "selari-frame-bytes";

class ByteStreamService final : public grpc::Service {
 public:
  ByteStreamService();

 private:
  // What source sends, again and again; its frames refer to it.
  const std::vector<char> memory_;
};

// Largest frame, in bytes; half of what a channel takes.
constexpr int64_t kByteStreamFrameMax = 2 << 20;

// A frame of bytes [0, size) of `memory`, which must outlive it.
grpc::ByteBuffer FrameOf(const char* memory, int64_t size);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_BYTE_STREAM_SERVICE_H_
