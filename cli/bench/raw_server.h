// RawServer: a parameter server of plain sockets, the yardstick that Selari is
// measured against: one thread for each worker's connection receives a block
// that fits a cache, applies it from there, and sends weights straight from
// the model.
//
// With several workers the threads pass each block together: all contributions
// of a block have arrived, then each thread sums and applies its part of it.
//
// Thread safety: one thread calls; the connections have threads of their own.

#ifndef SELARI_CLI_BENCH_RAW_SERVER_H_
#define SELARI_CLI_BENCH_RAW_SERVER_H_

#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cli/bench/raw_model.h"
#include "cli/bench/raw_protocol.h"
#include "cli/bench/socket.h"
#include "cli/bench/step_barrier.h"
#include "cli/bench/wire_job.h"
#include "common/float_buffer.h"
#include "server/shard/shard_job.h"

namespace selari {

class RawServer {
 public:
  // The memory of the model is taken when the first worker joins.
  RawServer(const WireShape& shape, std::shared_ptr<const ShardJob> job);
  // Ends all connections.
  ~RawServer();

  // Answers the kJoin that came over `socket` and serves it. INVALID_ARGUMENT
  // (no such worker), ALREADY_EXISTS: then it was told so and is closed.
  absl::Status Join(int32_t worker, Socket socket);

 private:
  struct Connection {
    explicit Connection(Socket connected) : socket(std::move(connected)) {}

    Socket socket;
    // Two blocks: while one is applied by all, the next one arrives.
    std::shared_ptr<FloatBuffer> blocks[2];
    std::thread thread;
  };
  // What one update has come to; the sender of kBoth follows it.
  class Progress;

  void Serve(int32_t worker);
  absl::Status Handle(int32_t worker, const RawRequest& request);
  // Receives and applies all blocks; tells `progress` (may be null) what is
  // complete.
  absl::Status Update(int32_t worker, const RawRequest& request,
                      Progress* progress);
  absl::Status PushAndPull(int32_t worker, const RawRequest& request);
  // This thread's part of a block that all have received.
  void ApplyPart(int32_t worker, int64_t step, int64_t first, int64_t n,
                 int block);
  absl::Status Arrive();

  const WireShape shape_;
  const std::shared_ptr<const ShardJob> job_;
  StepBarrier barrier_;
  std::unique_ptr<RawModel> model_;
  // By worker; null before it joined.
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_RAW_SERVER_H_
