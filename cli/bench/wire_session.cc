#include "cli/bench/wire_session.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/incarnation.h"
#include "common/isa.h"
#include "common/mutex.h"
#include "common/status.h"
#include "server/shard_control/grpc_shard_control.h"
#include "worker/client/grpc_transport.h"
#include "worker/client/parameter_client_impl.h"

namespace selari {
namespace {

constexpr int64_t kConnectTimeoutMs = 10'000;
// A lost server does not come back: nobody restarts it.
constexpr int64_t kGiveUpMs = 5'000;

// An answer that another thread brings, waited for only so long.
class Answer {
 public:
  void Set(const absl::Status& status) {
    MutexLock lock(&mu_);
    status_ = status;
    changed_.NotifyAll();
  }
  absl::Status WaitFor(std::chrono::seconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    MutexLock lock(&mu_);
    while (!status_.has_value()) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) {
        return absl::DeadlineExceededError("no answer");
      }
      changed_.WaitFor(&mu_, left);
    }
    return *status_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<WireSession>> WireSession::Open(
    const std::string& address, const WireShape& shape) {
  absl::StatusOr<Socket> control = Socket::Connect(address, kConnectTimeoutMs);
  if (!control.ok()) {
    return Annotate(control.status(), "the bench peer");
  }
  std::unique_ptr<WireSession> session(
      new WireSession(address, shape, *std::move(control)));
  SELARI_RETURN_IF_ERROR(session->Begin());
  return session;
}

absl::Status WireSession::Begin() {
  RawRequest request;
  request.op = RawOp::kOpen;
  request.shape = shape_;
  SELARI_ASSIGN_OR_RETURN(const RawReply reply, CallRaw(&control_, request));
  token_ = reply.token;
  grpc_address_ = absl::StrCat(address_.substr(0, address_.rfind(':')), ":",
                               reply.grpc_port);
  // What both processors have.
  const auto level = static_cast<IsaLevel>(
      std::min(static_cast<int32_t>(DetectIsaLevel()), reply.isa_level));
  SELARI_ASSIGN_OR_RETURN(job_, ShardJob::Create(MakeWireJob(shape_, level)));
  v1::ServerEntry* const server = map_.add_servers();
  server->set_address(grpc_address_);
  server->set_incarnation(token_);
  map_.set_version(1);
  for (int32_t shard = 0; shard < shape_.shards; ++shard) {
    map_.add_shard_owners(0);
  }
  return Annotate(AssignShards(), absl::StrCat("gRPC at ", grpc_address_));
}

absl::Status WireSession::AssignShards() {
  v1::AssignShardsRequest request;
  *request.mutable_job() = job_->resolved;
  request.set_incarnation(token_);
  *request.mutable_shard_map() = map_;
  Answer answer;
  // Ends its call, if it has none yet, before `answer` goes.
  const auto control = MakeGrpcShardControl(grpc_address_);
  control->AssignShards(request, [&answer](const auto& response) {
    answer.Set(response.status());
  });
  constexpr std::chrono::seconds kAssignLimit{60};
  return answer.WaitFor(kAssignLimit);
}

absl::Status WireSession::Close() {
  RawRequest request;
  request.op = RawOp::kClose;
  return CallRaw(&control_, request).status();
}

absl::StatusOr<std::unique_ptr<ParameterClient>> WireSession::Connect(
    int32_t worker, const WireTransport& wire) {
  GrpcTransportOptions transport_options;
  transport_options.give_up_ms = kGiveUpMs;
  transport_options.offer_shared_memory = wire.share_memory;
  if (wire.streams > 0) {
    transport_options.streams_per_server = wire.streams;
  }
  if (wire.frame_bytes > 0) {
    transport_options.frame_bytes_max = wire.frame_bytes;
  }
  SELARI_ASSIGN_OR_RETURN(
      auto transport,
      MakeGrpcTransport(job_->resolved, map_, {worker, NewIncarnation()},
                        transport_options));
  ParameterClientOptions client_options;
  client_options.connect_timeout_ms = kConnectTimeoutMs;
  return ConnectParameterClient(job_->resolved, std::move(transport),
                                client_options);
}

absl::StatusOr<Socket> WireSession::JoinRaw(int32_t worker) {
  SELARI_ASSIGN_OR_RETURN(Socket socket,
                          Socket::Connect(address_, kConnectTimeoutMs));
  RawRequest request;
  request.op = RawOp::kJoin;
  request.token = token_;
  request.worker = worker;
  SELARI_RETURN_IF_ERROR(CallRaw(&socket, request).status());
  return socket;
}

absl::StatusOr<ProcessMemory> WireSession::PeerMemory() {
  RawRequest request;
  request.op = RawOp::kMemory;
  SELARI_ASSIGN_OR_RETURN(const RawReply reply, CallRaw(&control_, request));
  return ProcessMemory{reply.rss_bytes, reply.rss_peak_bytes,
                       reply.rss_shared_bytes};
}

}  // namespace selari
