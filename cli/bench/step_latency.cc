#include "cli/bench/step_latency.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cli/bench/byte_stream_client.h"
#include "cli/bench/expected_weights.h"
#include "cli/bench/raw_client.h"
#include "cli/bench/wire_session.h"
#include "common/status.h"
#include "worker/client/parameter_client.h"

namespace selari {
namespace {

// Turns are short, so that all ways meet the same weather, and the first of
// each way warms it up.
constexpr int32_t kStepsPerTurn = 100;

// One way: takes one step, and how long each took.
struct Stepper {
  std::function<absl::Status(int64_t step)> take;
  std::vector<double> microseconds = {};
  int64_t step = 0;

  absl::Status TakeTurn(int32_t steps, bool counted) {
    for (int32_t i = 0; i < steps; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      SELARI_RETURN_IF_ERROR(take(step++));
      const std::chrono::duration<double, std::micro> taken =
          std::chrono::steady_clock::now() - begin;
      if (counted) {
        microseconds.push_back(taken.count());
      }
    }
    return absl::OkStatus();
  }

  StepTimes Times() const {
    return {PercentileOf(microseconds, 50), PercentileOf(microseconds, 99)};
  }
};

// Push, apply, pull: the weights of the next step are what is waited for.
absl::Status TakeSelariStep(ParameterClient* client, int64_t step,
                            const RawClient::Tensors& gradient) {
  const auto tensors = static_cast<int32_t>(gradient.size());
  for (int32_t tensor = 0; tensor < tensors; ++tensor) {
    SELARI_RETURN_IF_ERROR(client->Push(step, {}, tensor, gradient[tensor]));
    client->RequestPull(tensor, step + 1);
  }
  for (int32_t tensor = 0; tensor < tensors; ++tensor) {
    SELARI_RETURN_IF_ERROR(client->WaitForTensor(tensor).status());
  }
  return absl::OkStatus();
}

absl::Status CheckSelari(const ExpectedWeights& expected,
                         ParameterClient* client, int64_t step,
                         const RawClient::Tensors& gradient) {
  int64_t first = 0;
  for (size_t tensor = 0; tensor < gradient.size(); ++tensor) {
    SELARI_ASSIGN_OR_RETURN(
        const auto weights,
        client->WaitForTensor(static_cast<int32_t>(tensor)));
    SELARI_RETURN_IF_ERROR(expected.Check(weights, first, step));
    first += static_cast<int64_t>(weights.size());
  }
  return client->Flush();
}

}  // namespace

absl::StatusOr<WireLatency> MeasureStepLatency(const std::string& address,
                                               int64_t floats, int32_t steps,
                                               int32_t shards) {
  WireShape shape;
  shape.floats = floats;
  shape.shards = shards;
  SELARI_ASSIGN_OR_RETURN(const auto session,
                          WireSession::Open(address, shape));
  const RawClient::Tensors gradient = MakeWireGradient(shape, 0);
  SELARI_ASSIGN_OR_RETURN(auto client, session->Connect(0));
  SELARI_ASSIGN_OR_RETURN(Socket socket, session->JoinRaw(0));
  auto raw = std::make_unique<RawClient>(std::move(socket), gradient);
  auto bytes = std::make_unique<ByteStreamClient>(session->grpc_address());
  Stepper ways[] = {{[&](int64_t step) {
                      return TakeSelariStep(client.get(), step, gradient);
                    }},
                    {[&](int64_t) { return bytes->PingPong(shape.bytes()); }},
                    {[&](int64_t step) { return raw->PingPong(step + 1); }}};
  for (Stepper& way : ways) {
    SELARI_RETURN_IF_ERROR(way.TakeTurn(kStepsPerTurn, /*counted=*/false));
  }
  for (int32_t taken = 0; taken < steps; taken += kStepsPerTurn) {
    for (Stepper& way : ways) {
      SELARI_RETURN_IF_ERROR(
          way.TakeTurn(std::min(kStepsPerTurn, steps - taken),
                       /*counted=*/true));
    }
  }
  const ExpectedWeights expected(shape, session->job());
  SELARI_RETURN_IF_ERROR(
      CheckSelari(expected, client.get(), ways[0].step, gradient));
  SELARI_RETURN_IF_ERROR(expected.Check(raw->weights(), 0, ways[2].step));
  client.reset();
  bytes.reset();
  raw.reset();
  SELARI_RETURN_IF_ERROR(session->Close());
  return WireLatency{steps, shape.bytes(), ways[0].Times(), ways[1].Times(),
                     ways[2].Times()};
}

}  // namespace selari
