#include "worker/work.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/posix_file_env.h"
#include "common/status.h"

namespace selari {
namespace {

absl::Status CheckShape(const v1::ResolvedJob& job, const Dataset& train) {
  const std::vector<int64_t> expected(job.feature_shape().begin(),
                                      job.feature_shape().end());
  int64_t dim = 1;
  for (const int64_t extent : expected) {
    dim *= extent;
  }
  if (dim != train.dim) {
    return absl::InvalidArgumentError(
        absl::StrCat(train.source, ": samples of shape ",
                     absl::StrJoin(train.feature_shape, "x"), ", the job has ",
                     absl::StrJoin(expected, "x")));
  }
  return absl::OkStatus();
}

}  // namespace

SamplerOptions Work::Sampling() const {
  SamplerOptions sampling;
  sampling.seed = job.job().seed();
  sampling.sample_count = data.train.size;
  // Sampler and TotalSteps agree on a training set smaller than one batch.
  sampling.batch_size = std::min<int64_t>(job.job().training().batch_size(),
                                          sampling.sample_count);
  sampling.leaf_count = job.job().training().leaf_count();
  return sampling;
}

absl::StatusOr<Work> LoadWork(const v1::ResolvedJob& job,
                              absl::string_view base_dir) {
  if (job.job().model().has_custom()) {
    return absl::InvalidArgumentError(
        "the job's model is its user's own (model.custom): this worker has no "
        "layers to compute; start the user's workers instead");
  }
  Work work;
  work.job = job;
  SELARI_ASSIGN_OR_RETURN(const LossKind loss, LossOf(job.job().model()));
  const bool classes = LossTakesClasses(loss);
  const std::vector<int64_t> shape(job.feature_shape().begin(),
                                   job.feature_shape().end());
  SELARI_ASSIGN_OR_RETURN(
      work.plan, PlanModel(job.job().model(), shape, job.class_count()));
  v1::Data data = job.job().data();
  if (classes) {
    data.set_class_count(job.class_count());
  }
  PosixFileEnv env;
  SELARI_ASSIGN_OR_RETURN(
      work.data, LoadData(env, data, base_dir,
                          classes ? LabelKind::kClass : LabelKind::kTarget));
  SELARI_RETURN_IF_ERROR(CheckShape(job, work.data.train));
  return work;
}

}  // namespace selari
