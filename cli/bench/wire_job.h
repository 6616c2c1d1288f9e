// The job that `selari bench wire` runs: a model of plain tensors without
// layers, and gradients that both ends can compute from an element's number.
//
// Pure functions: safe from any thread.

#ifndef SELARI_CLI_BENCH_WIRE_JOB_H_
#define SELARI_CLI_BENCH_WIRE_JOB_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "common/isa.h"
#include "selari/v1/job.pb.h"

namespace selari {

// Sent as a number: never renumber.
enum class WireOptimizer : uint32_t { kSgd = 0, kAdam = 1 };

struct WireShape {
  int64_t floats = 0;  // of the model, > 0
  int32_t workers = 1;
  int32_t shards = 16;
  WireOptimizer optimizer = WireOptimizer::kSgd;

  int64_t bytes() const { return floats * int64_t{sizeof(float)}; }
  // Optimizer state for each weight.
  int64_t slots() const { return optimizer == WireOptimizer::kAdam ? 2 : 0; }
};

// How a client's bytes travel; 0: as in training.
struct WireTransport {
  int32_t streams = 0;       // to the server
  int64_t frame_bytes = 0;   // of one message, about
  bool share_memory = true;  // with a peer that can
};

// 16 MiB: a model of 256 MiB has 16 tensors, the last may be smaller.
constexpr int64_t kWireTensorFloats = int64_t{4} << 20;

// SYNC, one leaf for each worker, weights that start at zero, and a random
// job id. Passes ValidateJob when the shape is in the ranges of job.proto.
v1::ResolvedJob MakeWireJob(const WireShape& shape, IsaLevel level);

// Elements of each tensor, in order; they add up to shape.floats.
std::vector<int64_t> WireTensorSizes(const WireShape& shape);

// Elements [first, first + gradient.size()) of what `worker` pushes, over the
// whole model, in every step: multiples of 2^-12 in [-0.5, 0.5). The sum of up
// to 1024 such numbers is exact, so it does not depend on its order.
void FillWireGradient(int32_t worker, int64_t first,
                      absl::Span<float> gradient);

// The gradient of one worker, by tensor, in memory of `source`.
std::vector<std::shared_ptr<const FloatBuffer>> MakeWireGradient(
    const WireShape& shape, int32_t worker,
    const BufferSource& source = FloatBuffer::Allocate);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_WIRE_JOB_H_
