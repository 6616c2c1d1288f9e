#include "cli/resolve_job.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "common/isa.h"
#include "common/job_compression.h"
#include "common/job_config.h"
#include "common/printable.h"
#include "common/status.h"
#include "worker/data/load.h"
#include "worker/model/model_plan.h"

namespace selari {
namespace {

// Features that are described one by one in the job, which travels in one
// message; job.proto states it.
constexpr int64_t kDescribedFeaturesMax = 16384;

std::string NewJobId() {
  std::random_device device;
  const uint64_t high = device();
  const uint64_t low = device();
  return absl::StrFormat("%016x", (high << 32) ^ low);
}

// The level that every process of the job will use.
absl::Status ResolveInstructionSet(v1::Job* job) {
  const auto best = static_cast<int>(DetectIsaLevel());
  const int wanted = job->cluster().instruction_set();
  if (wanted > best) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster.instruction_set is level ", wanted,
                     " but this processor has level ", best, " only"));
  }
  job->mutable_cluster()->set_instruction_set(
      static_cast<v1::InstructionSet>(wanted == 0 ? best : wanted));
  return absl::OkStatus();
}

absl::Status ResolveCustomModel(v1::ResolvedJob* resolved) {
  const v1::CustomModel& custom = resolved->job().model().custom();
  if (custom.tensors_size() == 0) {
    return absl::InvalidArgumentError("model.custom has no tensor");
  }
  absl::flat_hash_set<std::string> names;
  for (const v1::TensorSpec& tensor : custom.tensors()) {
    if (tensor.name().empty() || !names.insert(tensor.name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("model.custom: tensor name \"", Excerpt(tensor.name()),
                       "\" is empty or used twice"));
    }
    *resolved->add_tensors() = tensor;
  }
  resolved->set_total_steps(resolved->job().training().steps());
  return absl::OkStatus();
}

// Facts of the training set, from the job itself or else from its files. Those
// of the test set are read as well, so that what is wrong in them is said
// before anything is made.
absl::Status ResolveData(FileEnv& env, absl::string_view base_dir,
                         DataPlace place, LabelKind label_kind,
                         v1::ResolvedJob* resolved) {
  const v1::Data& data = resolved->job().data();
  const bool stated =
      data.feature_shape_size() > 0 && data.train_sample_count() > 0 &&
      (data.class_count() > 0 || label_kind == LabelKind::kTarget);
  if (stated && place == DataPlace::kMaybeElsewhere) {
    *resolved->mutable_feature_shape() = data.feature_shape();
    resolved->set_class_count(data.class_count());
    resolved->set_train_sample_count(data.train_sample_count());
    return absl::OkStatus();
  }
  v1::Data read = data;
  if (resolved->job().model().loss() == v1::LOSS_LOGISTIC &&
      data.class_count() == 0) {
    read.set_class_count(2);
  }
  SELARI_ASSIGN_OR_RETURN(const DataSplits splits,
                          LoadData(env, read, base_dir, label_kind));
  for (const int64_t extent : splits.train.feature_shape) {
    resolved->add_feature_shape(extent);
  }
  resolved->set_class_count(splits.train.class_count);
  resolved->set_train_sample_count(splits.train.size);
  resolved->set_train_data_checksum(splits.train_checksum);
  if (splits.train.dim <= kDescribedFeaturesMax) {
    for (const std::string& name : splits.train.feature_names) {
      // A header need not be UTF-8, a message must.
      resolved->add_feature_names(Printable(name));
    }
    const FeatureScaling& scaling = splits.standardisation;
    resolved->mutable_feature_shift()->Assign(scaling.shift.begin(),
                                              scaling.shift.end());
    resolved->mutable_feature_scale()->Assign(scaling.scale.begin(),
                                              scaling.scale.end());
  }
  return absl::OkStatus();
}

absl::Status ResolveLayers(FileEnv& env, absl::string_view base_dir,
                           DataPlace place, v1::ResolvedJob* resolved) {
  const v1::Job& job = resolved->job();
  SELARI_ASSIGN_OR_RETURN(const LossKind loss, LossOf(job.model()));
  const LabelKind label_kind =
      LossTakesClasses(loss) ? LabelKind::kClass : LabelKind::kTarget;
  SELARI_RETURN_IF_ERROR(
      ResolveData(env, base_dir, place, label_kind, resolved));
  const std::vector<int64_t> shape(resolved->feature_shape().begin(),
                                   resolved->feature_shape().end());
  SELARI_ASSIGN_OR_RETURN(
      const ModelPlan plan,
      PlanModel(job.model(), shape, resolved->class_count()));
  for (v1::TensorSpec& tensor : TensorSpecs(plan)) {
    *resolved->add_tensors() = std::move(tensor);
  }
  resolved->set_total_steps(TotalSteps(job, resolved->train_sample_count()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::ResolvedJob> ResolveJob(FileEnv& env, const v1::Job& job,
                                           absl::string_view base_dir,
                                           DataPlace place) {
  v1::ResolvedJob resolved;
  *resolved.mutable_job() = job;
  resolved.set_job_id(NewJobId());
  SELARI_RETURN_IF_ERROR(ResolveInstructionSet(resolved.mutable_job()));
  if (job.model().has_custom()) {
    SELARI_RETURN_IF_ERROR(ResolveCustomModel(&resolved));
  } else {
    SELARI_RETURN_IF_ERROR(ResolveLayers(env, base_dir, place, &resolved));
  }
  SELARI_RETURN_IF_ERROR(CheckCompressionRules(resolved));
  return resolved;
}

}  // namespace selari
