#include "server/checkpoint/resume_rules.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/job_config.h"
#include "server/checkpoint/field_difference.h"

namespace selari {
namespace {

struct Rule {
  // Itself and what is below it, unless a longer one fits.
  absl::string_view field;
  ResumeRule rule;
};

constexpr Rule kRules[] = {
    {"job.name", ResumeRule::kFree},
    // Order of the samples, dropout.
    {"job.seed", ResumeRule::kRefused},

    // Files move; whether they hold other samples, the checksum tells.
    {"job.data.train", ResumeRule::kTold},
    {"job.data.train.csv.label_column", ResumeRule::kRefused},
    {"job.data.train.csv.feature_columns", ResumeRule::kRefused},
    {"job.data.test", ResumeRule::kTold},
    {"job.data.shift", ResumeRule::kRefused},
    {"job.data.scale", ResumeRule::kRefused},
    {"job.data.standardize", ResumeRule::kRefused},
    // What they come to is compared below.
    {"job.data.feature_shape", ResumeRule::kFree},
    {"job.data.class_count", ResumeRule::kFree},
    {"job.data.train_sample_count", ResumeRule::kFree},

    {"job.model", ResumeRule::kRefused},
    // A part of the tensors' names, which are compared below.
    {"job.model.layers.name", ResumeRule::kFree},
    // A habit of training: the weights mean the same with another one.
    {"job.model.layers.dropout.rate", ResumeRule::kTold},

    {"job.optimizer", ResumeRule::kTold},
    {"job.optimizer.algorithm", ResumeRule::kRefused},
    {"job.optimizer.sgd.momentum", ResumeRule::kDecidesState},
    {"job.optimizer.rms_prop.momentum", ResumeRule::kDecidesState},

    // Which samples make a step, and in which order they are summed.
    {"job.training.batch_size", ResumeRule::kRefused},
    {"job.training.leaf_count", ResumeRule::kRefused},
    {"job.training.epochs", ResumeRule::kFree},
    {"job.training.steps", ResumeRule::kFree},
    {"job.training.evaluate_every_steps", ResumeRule::kFree},
    {"job.training.log_every_steps", ResumeRule::kFree},

    // Decides what a chunk's version and a worker's clock count.
    {"job.consistency.mode", ResumeRule::kRefused},
    {"job.consistency.staleness", ResumeRule::kTold},

    {"job.cluster", ResumeRule::kFree},
    {"job.cluster.instruction_set", ResumeRule::kRefused},
    {"job.checkpointing", ResumeRule::kFree},
    // A checkpoint holds no residuals, so that any may follow.
    {"job.compression", ResumeRule::kTold},

    {"job_id", ResumeRule::kFree},
    {"tensors", ResumeRule::kRefused},
    {"train_sample_count", ResumeRule::kRefused},
    {"feature_shape", ResumeRule::kRefused},
    {"class_count", ResumeRule::kRefused},
    // Told when the schedule of the learning rate ends with it.
    {"total_steps", ResumeRule::kFree},
    {"feature_names", ResumeRule::kRefused},
    // The statistics of data.standardize.
    {"feature_shift", ResumeRule::kTold},
    {"feature_scale", ResumeRule::kTold},
    // New samples of the same kind are what one goes on with for.
    {"train_data_checksum", ResumeRule::kTold},
};

std::string WithoutIndices(absl::string_view path) {
  std::string field;
  bool index = false;
  for (const char c : path) {
    index = index || c == '[';
    if (!index) {
      field += c;
    }
    index = index && c != ']';
  }
  return field;
}

bool IsZero(absl::string_view text) {
  double value = 0;
  return absl::SimpleAtod(text, &value) && value == 0;
}

ResumeRule RuleFor(const FieldDifference& difference) {
  const ResumeRule rule = ResumeRuleOf(WithoutIndices(difference.path))
                              .value_or(ResumeRule::kRefused);
  if (rule == ResumeRule::kDecidesState) {
    return IsZero(difference.was) != IsZero(difference.is)
               ? ResumeRule::kRefused
               : ResumeRule::kTold;
  }
  return rule;
}

// As the user writes it.
absl::string_view JobPath(absl::string_view path) {
  absl::ConsumePrefix(&path, "job.");
  return path;
}

// What a field comes to when it is 0, as job.proto says, so that writing it out
// is no difference.
void FillImplied(v1::Job* job) {
  FillJobDefaults(job);
  if (job->data().scale() == 0) {
    job->mutable_data()->set_scale(1);
  }
  for (v1::Layer& layer : *job->mutable_model()->mutable_layers()) {
    if (layer.has_conv2d() && layer.conv2d().stride() == 0) {
      layer.mutable_conv2d()->set_stride(1);
    }
    if (layer.has_max_pool2d() && layer.max_pool2d().stride() == 0) {
      layer.mutable_max_pool2d()->set_stride(layer.max_pool2d().window());
    }
    if (layer.has_layer_norm() && layer.layer_norm().epsilon() == 0) {
      layer.mutable_layer_norm()->set_epsilon(1e-5F);
    }
  }
}

std::vector<FieldDifference> CompareJobs(const v1::ResolvedJob& saved,
                                         const v1::ResolvedJob& job) {
  v1::ResolvedJob was = saved;
  v1::ResolvedJob is = job;
  FillImplied(was.mutable_job());
  FillImplied(is.mutable_job());
  // Unknown to a job that states the facts of its data.
  const auto clear_unless_both = [&was, &is](auto get) {
    if (get(was)->empty() || get(is)->empty()) {
      get(was)->Clear();
      get(is)->Clear();
    }
  };
  using Job = v1::ResolvedJob;
  clear_unless_both([](Job& j) { return j.mutable_feature_names(); });
  clear_unless_both([](Job& j) { return j.mutable_feature_shift(); });
  clear_unless_both([](Job& j) { return j.mutable_feature_scale(); });
  if (was.train_data_checksum() == 0 || is.train_data_checksum() == 0) {
    was.clear_train_data_checksum();
    is.clear_train_data_checksum();
  }
  return CompareFields(was, is);
}

// Such a schedule gives other rates, from the first step on, when the job gets
// another last step.
bool ScheduleEndsWithTheJob(const v1::LearningRateSchedule& schedule) {
  return (schedule.has_cosine() && schedule.cosine().total_steps() == 0) ||
         (schedule.has_polynomial() &&
          schedule.polynomial().total_steps() == 0);
}

}  // namespace

std::optional<ResumeRule> ResumeRuleOf(absl::string_view field) {
  std::optional<ResumeRule> found;
  size_t longest = 0;
  for (const Rule& rule : kRules) {
    const bool fits =
        field == rule.field || (absl::StartsWith(field, rule.field) &&
                                field[rule.field.size()] == '.');
    if (fits && rule.field.size() > longest) {
      longest = rule.field.size();
      found = rule.rule;
    }
  }
  return found;
}

absl::Status CheckCanGoOn(const v1::ResolvedJob& saved,
                          const v1::ResolvedJob& job) {
  for (const FieldDifference& difference : CompareJobs(saved, job)) {
    if (RuleFor(difference) != ResumeRule::kRefused) {
      continue;
    }
    const absl::string_view path = JobPath(difference.path);
    const bool settable = path != difference.path && difference.is_value;
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is ", difference.was, " in the checkpoint and ", difference.is,
        " in the job, so the weights or the optimizer's state would mean "
        "something else; go on with the checkpoint's",
        settable ? absl::StrCat(", --set ", path, "=", difference.was) : "",
        ", or start anew with another --output"));
  }
  return absl::OkStatus();
}

std::vector<std::string> DescribeJobDifferences(const v1::ResolvedJob& saved,
                                                const v1::ResolvedJob& job) {
  std::vector<std::string> told;
  for (const FieldDifference& difference : CompareJobs(saved, job)) {
    if (RuleFor(difference) == ResumeRule::kTold) {
      told.push_back(absl::StrCat(JobPath(difference.path), ": ",
                                  difference.was, " -> ", difference.is));
    }
  }
  if (saved.total_steps() != job.total_steps() &&
      ScheduleEndsWithTheJob(job.job().optimizer().schedule())) {
    told.push_back(absl::StrCat("total_steps: ", saved.total_steps(), " -> ",
                                job.total_steps(),
                                ", where optimizer.schedule ends"));
  }
  return told;
}

}  // namespace selari
