// CheckpointCut: what the servers wrote of one cut, put together into the
// manifest of a checkpoint.
//
// Pure. Thread safety: none.

#ifndef SELARI_SERVER_COORDINATOR_CHECKPOINT_CUT_H_
#define SELARI_SERVER_COORDINATOR_CHECKPOINT_CUT_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "selari/v1/checkpoint.pb.h"
#include "selari/v1/job.pb.h"
#include "selari/v1/shard_service.pb.h"

namespace selari {

class CheckpointCut {
 public:
  // Steps that the workers had reported.
  struct Progress {
    int64_t start_step = 0;  // of this run of the job
    int64_t step = 0;        // done by every worker
  };

  // The files of one server. INTERNAL when a shard was written twice.
  absl::Status Add(const v1::SaveShardsResponse& response);

  // INTERNAL unless every shard was written.
  absl::Status CheckComplete(const v1::ResolvedJob& job) const;

  // In BOUNDED and ASYNC: the step to go on from. Worker w of W does the steps
  // w, w + W, ..., and its clock counts them; so the slowest clock times W
  // steps are done by all. That leaves out a last round that has no step for
  // everybody, and a worker that has pushed nothing yet has no clock; reports
  // tell both.
  int64_t StepByClocks(const v1::ResolvedJob& job,
                       const Progress& progress) const;

  v1::CheckpointManifest MakeManifest(const v1::ResolvedJob& job,
                                      int64_t step) const;

 private:
  std::map<int32_t, v1::ShardFile> files_;  // by shard
  std::map<int32_t, int64_t> clocks_;       // by worker, the least
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_CHECKPOINT_CUT_H_
