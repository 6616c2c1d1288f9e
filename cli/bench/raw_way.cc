#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/bench/expected_weights.h"
#include "cli/bench/raw_client.h"
#include "cli/bench/run_workers.h"
#include "cli/bench/wire_way.h"
#include "common/status.h"

namespace selari {
namespace {

// The connections and what has gone over them, shared by all manners.
struct RawConnections {
  RawConnections(const WireShape& shape, std::shared_ptr<const ShardJob> job)
      : expected(shape, std::move(job)) {}

  const ExpectedWeights expected;
  std::vector<std::unique_ptr<RawClient>> clients;  // by worker
  int64_t version = 0;    // updates since the last reset
  bool received = false;  // by the last call
};

class RawWay final : public WireWay {
 public:
  // `only_both`: for manners that differ in kBoth alone.
  RawWay(WireSession* session, std::shared_ptr<RawConnections> connections,
         const RawManner& manner, bool only_both)
      : session_(*session),
        connections_(std::move(connections)),
        manner_(manner),
        only_both_(only_both) {}

  std::string Name() const override {
    return absl::StrCat("raw TCP, blocks of ", manner_.block_bytes >> 10,
                        " KiB",
                        manner_.own_sender ? ", a thread that sends" : "");
  }
  bool Does(WireKind kind) const override {
    return kind == WireKind::kBoth || !only_both_;
  }

  // Weights start at zero in each round, so that checking one costs as little
  // as checking the first.
  absl::Status BeginRound() override {
    if (connections_->version == 0) {
      return absl::OkStatus();
    }
    connections_->version = 0;
    return RunAll([](RawClient* client) { return client->Reset(); }).status();
  }

  absl::StatusOr<double> Run(WireKind kind) override {
    const int64_t step = connections_->version + 1;
    connections_->received = kind != WireKind::kPushApply;
    connections_->version += kind == WireKind::kPull ? 0 : 1;
    switch (kind) {
      case WireKind::kPushApply:
        return RunAll([&](RawClient* c) { return c->Push(step, manner_); });
      case WireKind::kPull:
        return RunAll([](RawClient* c) { return c->Pull(); });
      default:
        return RunAll([&](RawClient* c) { return c->Both(step, manner_); });
    }
  }

  absl::StatusOr<int64_t> Check() override {
    int64_t bytes = 0;
    if (connections_->received) {
      for (const auto& client : connections_->clients) {
        SELARI_RETURN_IF_ERROR(connections_->expected.Check(
            client->weights(), 0, connections_->version));
        bytes += session_.shape().bytes();
      }
    }
    return bytes;
  }

 private:
  template <class Call>
  absl::StatusOr<double> RunAll(const Call& call) {
    return RunWorkers(
        session_.shape().workers,
        [&](int32_t worker) {
          return call(connections_->clients[worker].get());
        },
        [this] { session_.Abort(); });
  }

  WireSession& session_;
  const std::shared_ptr<RawConnections> connections_;
  const RawManner manner_;
  const bool only_both_;
};

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<WireWay>>> MakeRawWays(
    WireSession* session, std::vector<RawClient::Tensors> gradients) {
  auto connections =
      std::make_shared<RawConnections>(session->shape(), session->job());
  for (int32_t worker = 0; worker < session->shape().workers; ++worker) {
    SELARI_ASSIGN_OR_RETURN(Socket socket, session->JoinRaw(worker));
    connections->clients.push_back(std::make_unique<RawClient>(
        std::move(socket), std::move(gradients[worker])));
  }
  std::vector<std::unique_ptr<WireWay>> ways;
  for (const bool own_sender : {false, true}) {
    for (const int32_t block_bytes : {256 << 10, 1 << 20}) {
      ways.push_back(std::make_unique<RawWay>(
          session, connections, RawManner{block_bytes, own_sender},
          /*only_both=*/own_sender));
    }
  }
  return ways;
}

}  // namespace selari
