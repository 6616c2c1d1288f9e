// Work: what a worker computes, from its job and the job's files.
//
// Thread safety: functions from any thread; they read files.

#ifndef SELARI_WORKER_WORK_H_
#define SELARI_WORKER_WORK_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "selari/v1/job.pb.h"
#include "worker/data/dataset.h"
#include "worker/data/load.h"
#include "worker/data/sampler.h"
#include "worker/model/model_plan.h"

namespace selari {

struct Work {
  v1::ResolvedJob job;
  ModelPlan plan;
  DataSplits data;

  // How batches are drawn from data.train. Same on every worker.
  SamplerOptions Sampling() const;
};

// Plans the model and loads the data; relative paths start at `base_dir`.
// INVALID_ARGUMENT for a model of the user's own (model.custom), or data of
// another shape than the job's; otherwise the errors of LoadData.
absl::StatusOr<Work> LoadWork(const v1::ResolvedJob& job,
                              absl::string_view base_dir);

}  // namespace selari

#endif  // SELARI_WORKER_WORK_H_
