// A toy problem trained by any number of workers through any transport: each
// leaf pulls the weights towards a target of its own. Cheap, but every element
// of every tensor of every step depends on all that went before.

#ifndef SELARI_TESTS_INTEGRATION_TOY_TRAINING_H_
#define SELARI_TESTS_INTEGRATION_TOY_TRAINING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "selari/v1/job.pb.h"
#include "worker/client/parameter_client.h"
#include "worker/client/shard_transport.h"

namespace selari {

// SYNC, six leaves, three shards, SGD with rate 0.1, no clipping; three
// tensors, one of them in two chunks of each shard.
v1::ResolvedJob ToyJob(int32_t workers);

struct ToyRun {
  int64_t steps = 4;
  // The transport of each worker.
  std::function<absl::StatusOr<std::unique_ptr<ShardTransport>>(
      int32_t worker_id)>
      make_transport;
  // Called by worker 0 before each step. May be null.
  std::function<void(int64_t step)> before_step;
};

// Runs all workers of the job, each on a thread, and returns the weights after
// the last step, tensor after tensor.
absl::StatusOr<std::vector<float>> TrainToy(const v1::ResolvedJob& job,
                                            const ToyRun& run);

}  // namespace selari

#endif  // SELARI_TESTS_INTEGRATION_TOY_TRAINING_H_
