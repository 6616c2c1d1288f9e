#include <utility>

#include "cli/bench/expected_weights.h"
#include "cli/bench/run_workers.h"
#include "cli/bench/wire_way.h"
#include "common/reduction_tree.h"
#include "common/status.h"
#include "worker/client/parameter_client.h"

namespace selari {
namespace {

class SelariWay final : public WireWay {
 public:
  explicit SelariWay(WireSession* session)
      : session_(*session), expected_(session->shape(), session->job()) {}

  absl::Status Connect(const WireTransport& transport) {
    for (int32_t worker = 0; worker < workers(); ++worker) {
      SELARI_ASSIGN_OR_RETURN(auto client, session_.Connect(worker, transport));
      gradients_.push_back(MakeWireGradient(
          session_.shape(), worker,
          [&client](int64_t floats) { return client->NewBuffer(floats); }));
      clients_.push_back(std::move(client));
    }
    return absl::OkStatus();
  }

  std::string Name() const override { return "selari"; }
  bool Does(WireKind) const override { return true; }
  absl::Status BeginRound() override { return absl::OkStatus(); }

  absl::StatusOr<double> Run(WireKind kind) override {
    const int64_t step = version_;
    const auto work = [&](int32_t worker) {
      switch (kind) {
        case WireKind::kPushApply:
          return Push(worker, step);
        case WireKind::kPull:
          return Pull(worker, step);
        default:
          return Both(worker, step);
      }
    };
    absl::StatusOr<double> seconds =
        RunWorkers(workers(), work, [this] { session_.Abort(); });
    version_ += kind == WireKind::kPull ? 0 : 1;
    received_ = seconds.ok() && kind != WireKind::kPushApply;
    return seconds;
  }

  bool SharesMemory() const override {
    return clients_[0]->Stats().bytes_shared > 0;
  }

  absl::StatusOr<int64_t> Check() override {
    int64_t bytes = 0;
    for (size_t worker = 0; received_ && worker < clients_.size(); ++worker) {
      int64_t first = 0;
      for (int32_t tensor = 0; tensor < tensors(); ++tensor) {
        SELARI_ASSIGN_OR_RETURN(const auto weights,
                                clients_[worker]->WaitForTensor(tensor));
        SELARI_RETURN_IF_ERROR(expected_.Check(weights, first, version_));
        first += static_cast<int64_t>(weights.size());
      }
      bytes += first * int64_t{sizeof(float)};
    }
    return bytes;
  }

 private:
  int32_t workers() const { return session_.shape().workers; }
  int32_t tensors() const { return static_cast<int32_t>(gradients_[0].size()); }

  // Every worker has one leaf, so one node covers all it has.
  TreeNode NodeOf(int32_t worker) const {
    const ReductionTree& tree = session_.job()->tree;
    return tree.Cover(tree.LeavesOfWorker(worker, workers()))[0];
  }

  absl::Status Push(int32_t worker, int64_t step) {
    ParameterClient& client = *clients_[worker];
    const TreeNode node = NodeOf(worker);
    for (int32_t tensor = 0; tensor < tensors(); ++tensor) {
      SELARI_RETURN_IF_ERROR(
          client.Push(step, node, tensor, gradients_[worker][tensor]));
    }
    return client.Flush();
  }

  absl::Status WaitForAll(ParameterClient* client) {
    for (int32_t tensor = 0; tensor < tensors(); ++tensor) {
      SELARI_RETURN_IF_ERROR(client->WaitForTensor(tensor).status());
    }
    return absl::OkStatus();
  }

  absl::Status Pull(int32_t worker, int64_t version) {
    ParameterClient& client = *clients_[worker];
    for (int32_t tensor = 0; tensor < tensors(); ++tensor) {
      client.RequestPull(tensor, version);
    }
    return WaitForAll(&client);
  }

  // As a backward pass does: the next weights are asked for at once.
  absl::Status Both(int32_t worker, int64_t step) {
    ParameterClient& client = *clients_[worker];
    const TreeNode node = NodeOf(worker);
    for (int32_t tensor = 0; tensor < tensors(); ++tensor) {
      SELARI_RETURN_IF_ERROR(
          client.Push(step, node, tensor, gradients_[worker][tensor]));
      client.RequestPull(tensor, step + 1);
    }
    SELARI_RETURN_IF_ERROR(WaitForAll(&client));
    return client.Flush();
  }

  WireSession& session_;
  std::vector<RawClient::Tensors> gradients_;  // by worker
  const ExpectedWeights expected_;
  std::vector<std::unique_ptr<ParameterClient>> clients_;  // by worker
  int64_t version_ = 0;                                    // updates so far
  bool received_ = false;                                  // by the last Run
};

}  // namespace

absl::StatusOr<std::unique_ptr<WireWay>> MakeSelariWay(
    WireSession* session, const WireTransport& transport) {
  auto way = std::make_unique<SelariWay>(session);
  SELARI_RETURN_IF_ERROR(way->Connect(transport));
  return std::unique_ptr<WireWay>(std::move(way));
}

}  // namespace selari
