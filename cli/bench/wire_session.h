// WireSession: the client's end of one session with a bench peer. Opening it
// starts a fresh parameter server there and gives it the job's shards, as a
// coordinator would.
//
// Thread safety: one thread at a time, except Abort.

#ifndef SELARI_CLI_BENCH_WIRE_SESSION_H_
#define SELARI_CLI_BENCH_WIRE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/bench/process_memory.h"
#include "cli/bench/raw_protocol.h"
#include "cli/bench/socket.h"
#include "cli/bench/wire_job.h"
#include "selari/v1/coordinator_service.pb.h"
#include "selari/v1/job.pb.h"
#include "server/shard/shard_job.h"
#include "worker/client/parameter_client.h"

namespace selari {

class WireSession {
 public:
  // `address` is the peer's host:port. UNAVAILABLE when it does not answer,
  // FAILED_PRECONDITION when it is busy, INVALID_ARGUMENT when it is no bench
  // peer, DEADLINE_EXCEEDED when it stands still.
  static absl::StatusOr<std::unique_ptr<WireSession>> Open(
      const std::string& address, const WireShape& shape);
  ~WireSession() = default;

  // Waits until the peer has let go of everything, so that the next session
  // can open.
  absl::Status Close();

  // Breaks the session off; the peer ends all connections of it. From any
  // thread.
  void Abort() { control_.Shutdown(); }

  // A worker's client over GrpcTransport, each on connections of its own.
  absl::StatusOr<std::unique_ptr<ParameterClient>> Connect(
      int32_t worker, const WireTransport& wire = {});

  // A raw TCP connection that has joined as this worker.
  absl::StatusOr<Socket> JoinRaw(int32_t worker);

  // Of the peer's process.
  absl::StatusOr<ProcessMemory> PeerMemory();

  const WireShape& shape() const { return shape_; }
  // host:port of the peer's gRPC server.
  const std::string& grpc_address() const { return grpc_address_; }
  // The job as the shards have it.
  const std::shared_ptr<const ShardJob>& job() const { return job_; }

 private:
  WireSession(std::string address, const WireShape& shape, Socket control)
      : address_(std::move(address)),
        shape_(shape),
        control_(std::move(control)) {}

  absl::Status Begin();
  absl::Status AssignShards();

  const std::string address_;
  const WireShape shape_;
  Socket control_;
  uint64_t token_ = 0;
  std::string grpc_address_;
  std::shared_ptr<const ShardJob> job_;
  v1::ShardMap map_;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_WIRE_SESSION_H_
