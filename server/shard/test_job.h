// Small jobs for tests of the shard.

#ifndef SELARI_SERVER_SHARD_TEST_JOB_H_
#define SELARI_SERVER_SHARD_TEST_JOB_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "selari/v1/job.pb.h"

namespace selari {

// Two shards, eight leaves, four workers, SYNC, SGD with rate 0.1; weights
// start normal with deviation 0.5. `tensors`: names and elements. The fields
// may be changed before ShardJob::Create.
inline v1::ResolvedJob MakeTestJob(
    const std::vector<std::pair<std::string, int64_t>>& tensors) {
  v1::ResolvedJob resolved;
  resolved.set_job_id("00000000000000aa");
  resolved.set_total_steps(100);
  v1::Job& job = *resolved.mutable_job();
  job.set_seed(7);
  job.mutable_cluster()->set_servers(1);
  job.mutable_cluster()->set_workers(4);
  job.mutable_cluster()->set_shard_count(2);
  job.mutable_training()->set_leaf_count(8);
  job.mutable_consistency()->set_mode(v1::CONSISTENCY_SYNC);
  job.mutable_optimizer()->mutable_sgd();
  job.mutable_optimizer()->set_learning_rate(0.1);
  for (const auto& [name, count] : tensors) {
    v1::TensorSpec& tensor = *resolved.add_tensors();
    tensor.set_name(name);
    tensor.add_shape(count);
    tensor.mutable_initializer()->set_normal_stddev(0.5f);
  }
  return resolved;
}

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_TEST_JOB_H_
