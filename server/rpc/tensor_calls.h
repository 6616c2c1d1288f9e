// The logic of ParameterService's unary calls, without gRPC: what a request
// asks of the shards, and what their replies make of the response.
//
// Pure functions of their arguments: safe from any thread.

#ifndef SELARI_SERVER_RPC_TENSOR_CALLS_H_
#define SELARI_SERVER_RPC_TENSOR_CALLS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/shard_message.h"
#include "selari/v1/parameter_service.pb.h"
#include "server/shard/shard_host.h"

namespace selari {

// Errors are those that the proto documents for each call.
absl::Status ListTensors(const ShardHost& host,
                         const v1::ListTensorsRequest& request,
                         v1::ListTensorsResponse* response);
absl::Status GetTensor(const ShardHost& host, const std::string& name,
                       v1::GetTensorResponse* response);

// The part of a tensor that PullTensor reads.
struct TensorRange {
  std::shared_ptr<const ShardJob> job;
  int32_t tensor = 0;
  int64_t begin = 0;
  int64_t end = 0;
  // The hosted chunks that reach into the range, in order of offset.
  std::vector<ChunkSpec> chunks;
};
absl::StatusOr<TensorRange> FindRange(const ShardHost& host,
                                      const v1::PullTensorRequest& request);
std::vector<ShardRequest> PullsOf(const TensorRange& range,
                                  int64_t min_version);
// `replies`: one ChunkValue for each chunk of the range, in any order.
absl::Status FillPieces(const TensorRange& range,
                        const std::vector<ShardReply>& replies,
                        v1::PullTensorResponse* response);

// The gradients refer to `request`, which they keep alive.
absl::StatusOr<std::vector<ShardRequest>> PushesOf(
    const ShardHost& host,
    const std::shared_ptr<const v1::PushGradientRequest>& request);
// `replies`: one PushAck for each push, in any order.
absl::Status FillAcks(const v1::PushGradientRequest& request,
                      const std::vector<ShardReply>& replies,
                      v1::PushGradientResponse* response);

}  // namespace selari

#endif  // SELARI_SERVER_RPC_TENSOR_CALLS_H_
