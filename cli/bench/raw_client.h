// RawClient: one worker's side of the raw TCP yardstick (raw_server.h). Sends
// gradients from where they lie, in large writes, and receives weights where
// they shall lie.
//
// Thread safety: one thread calls.

#ifndef SELARI_CLI_BENCH_RAW_CLIENT_H_
#define SELARI_CLI_BENCH_RAW_CLIENT_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "cli/bench/raw_protocol.h"
#include "cli/bench/socket.h"
#include "common/float_buffer.h"

namespace selari {

class RawClient {
 public:
  using Tensors = std::vector<std::shared_ptr<const FloatBuffer>>;

  // `socket` has joined (kJoin). `gradient` is what is sent; the weights that
  // come back have as many floats.
  RawClient(Socket socket, Tensors gradient);

  absl::Status Reset();
  // Returns when the server has applied it as update `step`.
  absl::Status Push(int64_t step, const RawManner& manner);
  absl::Status Pull();
  // Both at once, on two threads. Small models go in one: see PingPong.
  absl::Status Both(int64_t step, const RawManner& manner);
  // The same on one thread, for a model that fits the sockets' buffers.
  absl::Status PingPong(int64_t step);

  // What Pull, Both or PingPong received last.
  absl::Span<const float> weights() const {
    return {weights_->data(), static_cast<size_t>(weights_->size())};
  }

 private:
  absl::Status SendGradient();
  absl::Status ReceiveWeights();

  Socket socket_;
  const Tensors gradient_;
  const std::shared_ptr<FloatBuffer> weights_;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_RAW_CLIENT_H_
