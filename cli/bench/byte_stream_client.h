// ByteStreamClient: the other end of ByteStreamService.
//
// Thread safety: one thread calls.

#ifndef SELARI_CLI_BENCH_BYTE_STREAM_CLIENT_H_
#define SELARI_CLI_BENCH_BYTE_STREAM_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace selari {

class ByteStreamClient {
 public:
  // Dials "host:port" at the first call, on a connection of its own.
  explicit ByteStreamClient(const std::string& address);
  ~ByteStreamClient();

  // Each moves `bytes` in frames of `frame_bytes` on a new stream and waits
  // for the end: up, down, or up and back down at once. UNAVAILABLE or
  // DEADLINE_EXCEEDED when the peer has gone or stands still.
  // REQUIRES: frame_bytes in [1, kByteStreamFrameMax].
  absl::Status Send(int64_t bytes, int64_t frame_bytes);
  absl::Status Receive(int64_t bytes, int64_t frame_bytes);
  absl::Status Exchange(int64_t bytes, int64_t frame_bytes);

  // One frame there and back, on a stream that stays open. Always the same
  // number of bytes.
  absl::Status PingPong(int64_t bytes);

 private:
  class Stream;

  absl::Status Run(const char* mode, int64_t bytes, int64_t frame_bytes,
                   int64_t send_bytes, int64_t receive_bytes);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::vector<char> memory_;
  std::unique_ptr<Stream> ping_;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_BYTE_STREAM_CLIENT_H_
