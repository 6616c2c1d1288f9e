#include "worker/step_options.h"

#include "absl/strings/str_cat.h"
#include "common/job_compression.h"
#include "common/job_reduction.h"
#include "common/reduction_tree.h"

namespace selari {

StepLoopOptions StepOptionsOf(const Work& work, int32_t worker_id,
                              int64_t start_step) {
  const v1::Job& job = work.job.job();
  const int32_t workers = job.cluster().workers();
  StepLoopOptions steps;
  steps.end_step = work.job.total_steps();
  steps.leaf_count = job.training().leaf_count();
  if (IsSync(job)) {
    steps.first_step = start_step;
    steps.leaves =
        ReductionTree(steps.leaf_count).LeavesOfWorker(worker_id, workers);
  } else {
    // The first step from start_step on that is this worker's.
    const int64_t ahead = worker_id - start_step % workers;
    steps.first_step = start_step + (ahead + workers) % workers;
    steps.stride = workers;
    steps.leaves = {0, steps.leaf_count};
  }
  steps.nodes = NodesToPush(job, steps.leaves);
  if (worker_id == 0 && work.data.test.has_value()) {
    steps.evaluate_every_steps = job.training().evaluate_every_steps();
    steps.evaluate_at_end = true;
  }
  return steps;
}

std::string PartName(const StepLoopOptions& steps) {
  if (steps.leaves.size() == 0) {
    return "no part of any batch";
  }
  return steps.stride > 1
             ? absl::StrCat("one batch in ", steps.stride)
             : absl::StrCat(steps.leaves.size(), " of the ", steps.leaf_count,
                            " parts of every batch");
}

}  // namespace selari
