#include "common/job_config.h"

#include <cmath>
#include <string>

#include "common/job_compression.h"
#include "common/printable.h"
#include "common/status.h"

namespace selari {
namespace {

absl::Status CheckRange(absl::string_view field, int64_t value, int64_t least,
                        int64_t most) {
  if (value >= least && value <= most) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      field, " is ", value, ", must be in [", least, ", ", most, "]"));
}

constexpr int64_t kNoLimit = int64_t{1} << 62;

absl::Status CheckName(const std::string& name) {
  bool good = !name.empty() && name.size() <= 63;
  for (const char c : name) {
    good =
        good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-');
  }
  if (good) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("name is \"", Excerpt(name),
                   "\", must be 1 to 63 characters of a-z, 0-9 and -"));
}

absl::Status CheckFinite(absl::string_view field, float value) {
  if (std::isfinite(value)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be finite"));
}

absl::Status CheckData(const v1::Data& data) {
  SELARI_RETURN_IF_ERROR(CheckFinite("data.shift", data.shift()));
  SELARI_RETURN_IF_ERROR(CheckFinite("data.scale", data.scale()));
  for (const int64_t extent : data.feature_shape()) {
    SELARI_RETURN_IF_ERROR(
        CheckRange("data.feature_shape", extent, 1, kNoLimit));
  }
  SELARI_RETURN_IF_ERROR(
      CheckRange("data.class_count", data.class_count(), 0, 1 << 30));
  SELARI_RETURN_IF_ERROR(CheckRange("data.train_sample_count",
                                    data.train_sample_count(), 0, kNoLimit));
  SELARI_RETURN_IF_ERROR(CheckRange("data.train.sample_limit",
                                    data.train().sample_limit(), 0, kNoLimit));
  return CheckRange("data.test.sample_limit", data.test().sample_limit(), 0,
                    kNoLimit);
}

absl::Status CheckTraining(const v1::Training& training) {
  SELARI_RETURN_IF_ERROR(CheckRange(
      "training.batch_size", training.batch_size(), 1, int64_t{1} << 30));
  SELARI_RETURN_IF_ERROR(
      CheckRange("training.epochs", training.epochs(), 0, 1 << 20));
  SELARI_RETURN_IF_ERROR(
      CheckRange("training.steps", training.steps(), 0, kNoLimit));
  SELARI_RETURN_IF_ERROR(CheckRange("training.evaluate_every_steps",
                                    training.evaluate_every_steps(), 0,
                                    kNoLimit));
  SELARI_RETURN_IF_ERROR(CheckRange("training.log_every_steps",
                                    training.log_every_steps(), 1, kNoLimit));
  return CheckRange("training.leaf_count", training.leaf_count(), 1, 1024);
}

absl::Status CheckCluster(const v1::Cluster& cluster) {
  SELARI_RETURN_IF_ERROR(CheckClusterRanges(cluster));
  if (cluster.servers() > cluster.shard_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster.servers is ", cluster.servers(),
                     " but cluster.shard_count ", cluster.shard_count(),
                     ": some servers would host nothing; raise shard_count"));
  }
  return absl::OkStatus();
}

absl::Status CheckConsistency(const v1::Job& job) {
  const v1::ConsistencyPolicy& policy = job.consistency();
  SELARI_RETURN_IF_ERROR(
      CheckRange("consistency.staleness", policy.staleness(), 0, 1 << 30));
  if (policy.mode() != v1::CONSISTENCY_BOUNDED && policy.staleness() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("consistency.staleness is ", policy.staleness(),
                     " but only CONSISTENCY_BOUNDED uses it; mode is ",
                     v1::Consistency_Name(policy.mode())));
  }
  if (policy.mode() == v1::CONSISTENCY_SYNC &&
      job.cluster().workers() > job.training().leaf_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cluster.workers is ", job.cluster().workers(),
        " but training.leaf_count ", job.training().leaf_count(),
        ": in CONSISTENCY_SYNC some workers would have nothing to do; raise "
        "leaf_count"));
  }
  return absl::OkStatus();
}

}  // namespace

void FillJobDefaults(v1::Job* job) {
  if (job->name().empty()) {
    job->set_name("job");
  }
  v1::Training* training = job->mutable_training();
  if (training->batch_size() == 0) {
    training->set_batch_size(64);
  }
  if (training->epochs() == 0 && training->steps() == 0) {
    training->set_epochs(1);
  }
  if (training->log_every_steps() == 0) {
    training->set_log_every_steps(50);
  }
  if (training->leaf_count() == 0) {
    training->set_leaf_count(8);
  }
  if (job->consistency().mode() == v1::CONSISTENCY_UNSPECIFIED) {
    job->mutable_consistency()->set_mode(v1::CONSISTENCY_SYNC);
  }
  v1::Cluster* cluster = job->mutable_cluster();
  if (cluster->workers() == 0) {
    cluster->set_workers(1);
  }
  if (cluster->shard_count() == 0) {
    cluster->set_shard_count(16);
  }
  if (cluster->lease_ms() == 0) {
    cluster->set_lease_ms(10000);
  }
  if (cluster->join_timeout_s() == 0) {
    cluster->set_join_timeout_s(300);
  }
  if (job->checkpointing().durability() == v1::DURABILITY_UNSPECIFIED) {
    job->mutable_checkpointing()->set_durability(v1::DURABILITY_CHECKPOINTED);
  }
  if (job->checkpointing().keep() == 0) {
    job->mutable_checkpointing()->set_keep(3);
  }
  FillCompressionDefaults(job);
}

absl::Status CheckClusterRanges(const v1::Cluster& cluster) {
  SELARI_RETURN_IF_ERROR(
      CheckRange("cluster.servers", cluster.servers(), 0, 1024));
  SELARI_RETURN_IF_ERROR(
      CheckRange("cluster.workers", cluster.workers(), 1, 1024));
  SELARI_RETURN_IF_ERROR(
      CheckRange("cluster.shard_count", cluster.shard_count(), 1, 4096));
  SELARI_RETURN_IF_ERROR(
      CheckRange("cluster.worker_threads", cluster.worker_threads(), 0, 256));
  SELARI_RETURN_IF_ERROR(
      CheckRange("cluster.server_threads", cluster.server_threads(), 0, 256));
  SELARI_RETURN_IF_ERROR(
      CheckRange("cluster.lease_ms", cluster.lease_ms(), 100, 3600000));
  SELARI_RETURN_IF_ERROR(
      CheckRange("cluster.join_timeout_s", cluster.join_timeout_s(), 1, 86400));
  return absl::OkStatus();
}

absl::Status ValidateJob(const v1::Job& job) {
  SELARI_RETURN_IF_ERROR(CheckName(job.name()));
  SELARI_RETURN_IF_ERROR(CheckData(job.data()));
  SELARI_RETURN_IF_ERROR(CheckTraining(job.training()));
  SELARI_RETURN_IF_ERROR(CheckCluster(job.cluster()));
  SELARI_RETURN_IF_ERROR(CheckConsistency(job));
  SELARI_RETURN_IF_ERROR(CheckRange("checkpointing.every_steps",
                                    job.checkpointing().every_steps(), 0,
                                    kNoLimit));
  SELARI_RETURN_IF_ERROR(
      CheckRange("checkpointing.keep", job.checkpointing().keep(), 1, 1000000));
  SELARI_RETURN_IF_ERROR(CheckCompression(job));
  const bool custom = job.model().has_custom();
  if (custom && job.model().layers_size() > 0) {
    return absl::InvalidArgumentError(
        "model has both layers and custom tensors; use one of them");
  }
  if (!custom && job.model().layers_size() == 0) {
    return absl::InvalidArgumentError(
        "model has neither layers nor custom tensors");
  }
  if (!custom &&
      job.data().train().format_case() == v1::Source::FORMAT_NOT_SET) {
    return absl::InvalidArgumentError(
        "data.train is not set: name its files with idx, csv or npy");
  }
  if (job.optimizer().algorithm_case() == v1::Optimizer::ALGORITHM_NOT_SET) {
    return absl::InvalidArgumentError(
        "optimizer has no algorithm: add one of sgd, adagrad, rms_prop, adam, "
        "adam_w and lamb, e.g. optimizer { sgd {} learning_rate: 0.1 }");
  }
  if (job.optimizer().has_lamb() &&
      job.consistency().mode() != v1::CONSISTENCY_SYNC) {
    return absl::InvalidArgumentError(absl::StrCat(
        "optimizer.lamb needs consistency.mode CONSISTENCY_SYNC, as its trust "
        "ratio is a norm over whole tensors; mode is ",
        v1::Consistency_Name(job.consistency().mode())));
  }
  return absl::OkStatus();
}

int64_t TotalSteps(const v1::Job& job, int64_t train_sample_count) {
  const v1::Training& training = job.training();
  if (training.steps() > 0) {
    return training.steps();
  }
  const int64_t batch = training.batch_size();
  return training.epochs() * ((train_sample_count + batch - 1) / batch);
}

}  // namespace selari
