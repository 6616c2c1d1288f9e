// WireWay: one way to move gradients to a server and weights back, as `selari
// bench wire` times it. Three of them: the product itself, raw TCP sockets,
// and gRPC without anything behind it.
//
// Thread safety: one thread calls.

#ifndef SELARI_CLI_BENCH_WIRE_WAY_H_
#define SELARI_CLI_BENCH_WIRE_WAY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/bench/raw_client.h"
#include "cli/bench/wire_session.h"

namespace selari {

enum class WireKind {
  kPushApply,  // all gradients there, and applied
  kPull,       // all weights here
  kBoth,       // both at once, as training does
};
constexpr std::array<WireKind, 3> kWireKinds = {
    WireKind::kPushApply, WireKind::kPull, WireKind::kBoth};

// "push_apply", "pull" and "both": the names in JSON.
const char* WireKindName(WireKind kind);

class WireWay {
 public:
  virtual ~WireWay() = default;

  // For people, e.g. "raw TCP, blocks of 1 MiB".
  virtual std::string Name() const = 0;
  // Which kinds differ from those of other ways of the same family.
  virtual bool Does(WireKind kind) const = 0;
  // Before the kinds of one round, untimed.
  virtual absl::Status BeginRound() = 0;
  // Does it once with all workers; the seconds it took.
  virtual absl::StatusOr<double> Run(WireKind kind) = 0;
  // True when tensors have passed through shared memory.
  virtual bool SharesMemory() const { return false; }
  // Compares the bits of all weights that the last Run received with those
  // that all updates so far must give; returns the bytes compared, 0 when
  // there is nothing to compare. DATA_LOSS when they differ.
  virtual absl::StatusOr<int64_t> Check() = 0;
};

// Each borrows the session, which must outlive it.

// Push and pull through ParameterClient and GrpcTransport, gradients in the
// client's own buffers, as a worker has them.
absl::StatusOr<std::unique_ptr<WireWay>> MakeSelariWay(
    WireSession* session, const WireTransport& transport = {});

// Raw TCP in several manners over the same connections; the faster one is the
// yardstick. Blocks that fit the caches of one core, or larger ones with fewer
// calls; one thread for both directions of kBoth at the server, or two.
absl::StatusOr<std::vector<std::unique_ptr<WireWay>>> MakeRawWays(
    WireSession* session, std::vector<RawClient::Tensors> gradients);

// Frames of 1 MiB on a gRPC stream, dropped or made up at once at the server.
std::unique_ptr<WireWay> MakeGrpcWay(WireSession* session);

}  // namespace selari

#endif  // SELARI_CLI_BENCH_WIRE_WAY_H_
