// ParameterClient: the weights as a worker sees them. The same class of calls
// whether the shards are in this process or behind gRPC.
//
//   for each tensor: client->RequestPull(tensor, step);
//   ... weights = client->WaitForTensor(tensor) ...
//   client->Push(step, node, tensor, gradient);   // as soon as it exists
//   client->RequestPull(tensor, step + 1);        // at once after the push
//   ... client->Flush() after the last step ...
//
// Thread safety: one thread calls; an implementation has threads of its own.

#ifndef SELARI_WORKER_CLIENT_PARAMETER_CLIENT_H_
#define SELARI_WORKER_CLIENT_PARAMETER_CLIENT_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "common/reduction_tree.h"

namespace selari {

struct ClientStats {
  int64_t bytes_pushed = 0;
  int64_t bytes_pulled = 0;
  int64_t bytes_shared = 0;  // of both, through shared memory
  int64_t pull_wait_us = 0;  // time blocked in WaitForTensor
  int64_t push_wait_us = 0;  // time blocked in Push and Flush
};

class ParameterClient {
 public:
  virtual ~ParameterClient() = default;

  // SYNC, before anything is requested or pushed: the step that the job is at,
  // whose weights all shards have or still have, for a worker that comes when
  // others train. It stays there until this worker's part is pushed. Blocks,
  // and moves the whole model. Errors as WaitForTensor.
  virtual absl::StatusOr<int64_t> FindStep() = 0;

  // Asks for tensors [begin, end) with at least `min_version` updates (SYNC:
  // exactly); in BOUNDED also as fresh as the bound demands of a worker at
  // `clock` = min_version. Returns at once. The memory that WaitForTensor gave
  // for these tensors is overwritten from now on.
  virtual void RequestPulls(int32_t begin, int32_t end,
                            int64_t min_version) = 0;
  void RequestPull(int32_t tensor, int64_t min_version) {
    RequestPulls(tensor, tensor + 1, min_version);
  }

  // Waits for the tensor's last RequestPull. The span (64-byte aligned, the
  // tensor's elements row-major) is valid until the next RequestPull of this
  // tensor. Errors: ABORTED with "job stopped" when the job ends early (see
  // IsJobStopped), UNAVAILABLE when a server stays away, or the shard's own.
  virtual absl::StatusOr<absl::Span<const float>> WaitForTensor(
      int32_t tensor) = 0;

  // Memory for gradients: such as servers of this machine read in place. Any
  // other FloatBuffer may be pushed too.
  virtual std::shared_ptr<FloatBuffer> NewBuffer(int64_t floats) {
    return FloatBuffer::Allocate(floats);
  }

  // Sends the gradient of `tensor` (all its elements) for `node` of `step`
  // (BOUNDED, ASYNC: step is the worker's clock, node is ignored). The buffer
  // must not change any more; it is kept until it is acknowledged, and sent
  // again if a connection breaks. A small gradient leaves with the next call of
  // RequestPulls, WaitForTensor or Flush, in one frame. INVALID_ARGUMENT for a
  // wrong size.
  virtual absl::Status Push(int64_t step, TreeNode node, int32_t tensor,
                            std::shared_ptr<const FloatBuffer> gradient) = 0;

  // Waits until every push is acknowledged.
  virtual absl::Status Flush() = 0;

  virtual ClientStats Stats() const = 0;
};

// True for the status by which a job that is stopping ends its workers.
bool IsJobStopped(const absl::Status& status);

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_PARAMETER_CLIENT_H_
