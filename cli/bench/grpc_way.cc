#include "absl/strings/str_cat.h"
#include "cli/bench/byte_stream_client.h"
#include "cli/bench/run_workers.h"
#include "cli/bench/wire_way.h"

namespace selari {
namespace {

constexpr int64_t kFrameBytes = 1 << 20;

class GrpcWay final : public WireWay {
 public:
  explicit GrpcWay(WireSession* session) : session_(*session) {
    for (int32_t worker = 0; worker < session->shape().workers; ++worker) {
      clients_.push_back(
          std::make_unique<ByteStreamClient>(session->grpc_address()));
    }
  }

  std::string Name() const override {
    return absl::StrCat("bare gRPC, frames of ", kFrameBytes >> 10, " KiB");
  }
  bool Does(WireKind) const override { return true; }
  absl::Status BeginRound() override { return absl::OkStatus(); }

  absl::StatusOr<double> Run(WireKind kind) override {
    const int64_t bytes = session_.shape().bytes();
    return RunWorkers(
        session_.shape().workers,
        [&](int32_t worker) {
          ByteStreamClient& client = *clients_[worker];
          switch (kind) {
            case WireKind::kPushApply:
              return client.Send(bytes, kFrameBytes);
            case WireKind::kPull:
              return client.Receive(bytes, kFrameBytes);
            default:
              return client.Exchange(bytes, kFrameBytes);
          }
        },
        [this] { session_.Abort(); });
  }

  absl::StatusOr<int64_t> Check() override { return 0; }

 private:
  WireSession& session_;
  std::vector<std::unique_ptr<ByteStreamClient>> clients_;  // by worker
};

}  // namespace

std::unique_ptr<WireWay> MakeGrpcWay(WireSession* session) {
  return std::make_unique<GrpcWay>(session);
}

}  // namespace selari
