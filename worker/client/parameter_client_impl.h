// The one implementation of ParameterClient, over any ShardTransport.
//
//   SELARI_ASSIGN_OR_RETURN(auto transport, MakeGrpcTransport(...));
//   SELARI_ASSIGN_OR_RETURN(
//       std::unique_ptr<ParameterClient> client,
//       ConnectParameterClient(job, std::move(transport), options));
//
// The first error (a refused push, a server that stays away, a stopped job)
// ends the client: every later call returns it.

#ifndef SELARI_WORKER_CLIENT_PARAMETER_CLIENT_IMPL_H_
#define SELARI_WORKER_CLIENT_PARAMETER_CLIENT_IMPL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "selari/v1/job.pb.h"
#include "worker/client/parameter_client.h"
#include "worker/client/shard_transport.h"

namespace selari {

struct ParameterClientOptions {
  // How long to wait for all servers at first, >= 0.
  int64_t connect_timeout_ms = 300'000;
  // Told for people, one sentence, what WaitForTensor or Flush waits for and
  // since when; called on the waiting thread. Null: nobody.
  std::function<void(const std::string&)> on_waiting;
  int64_t waiting_first_ms = 5'000;
  int64_t waiting_interval_ms = 10'000;
};

// Connects to every shard of the job. Errors: INVALID_ARGUMENT (a job without
// a layout), or what the transport's Start returns. Destroying the client
// ends the connections without waiting for acknowledgements: Flush first.
absl::StatusOr<std::unique_ptr<ParameterClient>> ConnectParameterClient(
    const v1::ResolvedJob& job, std::unique_ptr<ShardTransport> transport,
    const ParameterClientOptions& options);

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_PARAMETER_CLIENT_IMPL_H_
