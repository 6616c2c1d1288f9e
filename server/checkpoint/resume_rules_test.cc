#include "server/checkpoint/resume_rules.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/shard/shard_job.h"

namespace selari {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::ResolvedJob Parse(const std::string& text) {
  v1::ResolvedJob job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &job))
      << text;
  return job;
}

v1::ResolvedJob WithChange(v1::ResolvedJob job, const std::string& change) {
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(change, &job))
      << change;
  return job;
}

v1::ResolvedJob Saved() {
  return Parse(R"(
    job {
      name: "first" seed: 5
      data {
        train { csv { path: "a.csv" label_column: "y" feature_columns: "x" } }
        shift: 1
      }
      model {
        layers { conv2d { filters: 4 kernel_size: 3 } }
        layers { dropout { rate: 0.1 } }
        loss: LOSS_SOFTMAX_CROSS_ENTROPY
      }
      optimizer { sgd { momentum: 0.9 } learning_rate: 0.1 }
      training { steps: 100 }
      cluster { instruction_set: INSTRUCTION_SET_LEVEL3 }
    }
    job_id: "a" train_sample_count: 300 feature_shape: [8, 8, 1] class_count: 4
    train_data_checksum: 7
    total_steps: 100 feature_names: "x" feature_shift: 1 feature_scale: 2
    tensors { name: "w" shape: [3, 4] }
  )");
}

// Every leaf of a message, and every oneof, by path.
void CollectFields(const Descriptor* type, const std::string& prefix,
                   std::vector<std::string>* fields) {
  for (int i = 0; i < type->real_oneof_decl_count(); ++i) {
    fields->push_back(prefix + type->oneof_decl(i)->name());
  }
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const std::string path = prefix + field->name();
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      fields->push_back(path);
    } else {
      CollectFields(field->message_type(), path + ".", fields);
    }
  }
}

TEST(ResumeRulesTest, SomebodyHasDecidedForEveryField) {
  std::vector<std::string> fields;
  CollectFields(v1::ResolvedJob::descriptor(), "", &fields);
  EXPECT_GT(fields.size(), 80u);
  for (const std::string& field : fields) {
    EXPECT_TRUE(ResumeRuleOf(field).has_value())
        << field << " is new: may it differ when a run goes on?";
  }
  EXPECT_FALSE(ResumeRuleOf("job.new_field").has_value());
  EXPECT_FALSE(ResumeRuleOf("job.models").has_value());
}

struct Case {
  // Text of a ResolvedJob that is merged into the saved one.
  std::string change;
  // What the sentence must hold: field and both values.
  std::string field;
  std::string was;
  std::string is;
};

TEST(ResumeRulesTest, WhatWouldMeanSomethingElseIsRefused) {
  const Case cases[] = {
      {"job { seed: 6 }", "seed", "5", "6"},
      {"job { data { shift: 2 } }", "data.shift", "1", "2"},
      {"job { data { scale: 2 } }", "data.scale", "1", "2"},
      {"job { data { standardize: true } }", "data.standardize", "false",
       "true"},
      {"job { data { train { csv { label_column: \"z\" } } } }",
       "data.train.csv.label_column", "\"y\"", "\"z\""},
      {"job { data { train { csv { feature_columns: \"z\" } } } }",
       "data.train.csv.feature_columns", "[\"x\"]", "[\"x\", \"z\"]"},
      {"job { model { loss: LOSS_MEAN_SQUARED_ERROR } }", "model.loss",
       "LOSS_SOFTMAX_CROSS_ENTROPY", "LOSS_MEAN_SQUARED_ERROR"},
      {"job { model { layers { relu {} } } }", "model.layers[2]", "not set",
       "{ relu { } }"},
      {"job { optimizer { adam {} } }", "optimizer.algorithm", "sgd", "adam"},
      {"job { optimizer { sgd { momentum: 0 } } }", "optimizer.sgd.momentum",
       "0.9", "0"},
      {"job { training { batch_size: 65 } }", "training.batch_size", "64",
       "65"},
      {"job { training { leaf_count: 4 } }", "training.leaf_count", "8", "4"},
      {"job { consistency { mode: CONSISTENCY_ASYNC } }", "consistency.mode",
       "CONSISTENCY_SYNC", "CONSISTENCY_ASYNC"},
      {"job { cluster { instruction_set: INSTRUCTION_SET_LEVEL2 } }",
       "cluster.instruction_set", "INSTRUCTION_SET_LEVEL3",
       "INSTRUCTION_SET_LEVEL2"},
      {"train_sample_count: 301", "train_sample_count", "300", "301"},
      {"feature_shape: 2", "feature_shape", "[8, 8, 1]", "[8, 8, 1, 2]"},
      {"class_count: 5", "class_count", "4", "5"},
      {"feature_names: \"z\"", "feature_names", "[\"x\"]", "[\"x\", \"z\"]"},
      {"tensors { name: \"b\" }", "tensors[1]", "not set", "\"b\""},
  };
  for (const Case& c : cases) {
    v1::ResolvedJob job = WithChange(Saved(), c.change);
    if (c.field == "optimizer.sgd.momentum") {
      job.mutable_job()->mutable_optimizer()->mutable_sgd()->clear_momentum();
    }
    const absl::Status status = CheckCanGoOn(Saved(), job);
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << c.change;
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(HasSubstr(absl::StrCat(c.field, " is ", c.was, " in the ch")),
              HasSubstr(c.is), HasSubstr("start anew with another --output")));
  }
}

TEST(ResumeRulesTest, TheWayBackIsNamed) {
  v1::ResolvedJob job = Saved();
  job.mutable_job()->mutable_optimizer()->mutable_sgd()->clear_momentum();
  EXPECT_THAT(std::string(CheckCanGoOn(Saved(), job).message()),
              HasSubstr("the checkpoint's, --set optimizer.sgd.momentum=0.9,"));
  // The other way round, too.
  EXPECT_THAT(std::string(CheckCanGoOn(job, Saved()).message()),
              HasSubstr("the checkpoint's, --set optimizer.sgd.momentum=0,"));
}

TEST(ResumeRulesTest, WhatMayReasonablyChangeIsTold) {
  const Case cases[] = {
      {"job { data { train { csv { path: \"b\" } } } }", "data.train.csv.path",
       "\"a.csv\"", "\"b\""},
      {"job { data { test { csv { path: \"b\" } } } }", "data.test.format",
       "not set", "csv"},
      {"job { optimizer { learning_rate: 0.2 } }", "optimizer.learning_rate",
       "0.1", "0.2"},
      {"job { optimizer { sgd { momentum: 0.8 } } }", "optimizer.sgd.momentum",
       "0.9", "0.8"},
      {"job { optimizer { sgd { nesterov: true } } }", "optimizer.sgd.nesterov",
       "false", "true"},
      {"job { optimizer { weight_decay: 0.5 } }", "optimizer.weight_decay", "0",
       "0.5"},
      {"job { optimizer { clip_value: 0.5 } }", "optimizer.clip_value", "0",
       "0.5"},
      {"job { optimizer { schedule { warmup_steps: 5 } } }",
       "optimizer.schedule.warmup_steps", "0", "5"},
      {"job { consistency { staleness: 5 } }", "consistency.staleness", "0",
       "5"},
      {"feature_shift: 1", "feature_shift", "[1]", "[1, 1]"},
      {"train_data_checksum: 8", "train_data_checksum", "7", "8"},
  };
  for (const Case& c : cases) {
    const v1::ResolvedJob job = WithChange(Saved(), c.change);
    EXPECT_TRUE(CheckCanGoOn(Saved(), job).ok()) << c.change;
    EXPECT_THAT(DescribeJobDifferences(Saved(), job),
                ElementsAre(absl::StrCat(c.field, ": ", c.was, " -> ", c.is)));
  }
  v1::ResolvedJob job = Saved();
  job.mutable_job()
      ->mutable_model()
      ->mutable_layers(1)
      ->mutable_dropout()
      ->set_rate(0.5F);
  EXPECT_THAT(DescribeJobDifferences(Saved(), job),
              ElementsAre("model.layers[1].dropout.rate: 0.1 -> 0.5"));
}

TEST(ResumeRulesTest, ShapeLengthAndReportsAreFree) {
  for (const char* change : {
           "job { name: \"second\" } job_id: \"b\"",
           "job { training { epochs: 3 steps: 200 } } total_steps: 200",
           "job { training { evaluate_every_steps: 3 log_every_steps: 7 } }",
           "job { cluster { servers: 3 workers: 2 shard_count: 5 "
           "worker_threads: 1 server_threads: 1 lease_ms: 500 "
           "join_timeout_s: 5 } }",
           "job { checkpointing { every_steps: 10 keep: 1 } }",
           // Written out, it is what it was.
           "job { data { scale: 1 feature_shape: [8, 8, 1] class_count: 4 } }",
           "job { training { batch_size: 64 leaf_count: 8 } "
           "consistency { mode: CONSISTENCY_SYNC } }",
       }) {
    const v1::ResolvedJob job = WithChange(Saved(), change);
    EXPECT_TRUE(CheckCanGoOn(Saved(), job).ok()) << CheckCanGoOn(Saved(), job);
    EXPECT_THAT(DescribeJobDifferences(Saved(), job), IsEmpty()) << change;
  }
  v1::ResolvedJob job = Saved();
  v1::Model& model = *job.mutable_job()->mutable_model();
  model.mutable_layers(0)->mutable_conv2d()->set_stride(1);
  model.mutable_layers(0)->set_name("conv2d1");
  // A job that states the facts of its data does not know these.
  job.clear_feature_names();
  job.clear_feature_shift();
  job.clear_feature_scale();
  job.clear_train_data_checksum();
  EXPECT_TRUE(CheckCanGoOn(Saved(), job).ok()) << CheckCanGoOn(Saved(), job);
  EXPECT_THAT(DescribeJobDifferences(Saved(), job), IsEmpty());
}

TEST(ResumeRulesTest, AScheduleThatEndsWithAnotherLastStepIsTold) {
  v1::ResolvedJob saved = Saved();
  v1::LearningRateSchedule& schedule =
      *saved.mutable_job()->mutable_optimizer()->mutable_schedule();
  schedule.mutable_cosine();
  saved.set_total_steps(200);
  v1::ResolvedJob job = saved;
  EXPECT_THAT(DescribeJobDifferences(saved, job), IsEmpty());
  job.set_total_steps(300);
  EXPECT_THAT(DescribeJobDifferences(saved, job),
              ElementsAre("total_steps: 200 -> 300, where optimizer.schedule "
                          "ends"));
  // One that ends at a step of its own does not care.
  schedule.mutable_cosine()->set_total_steps(300);
  *job.mutable_job() = saved.job();
  EXPECT_THAT(DescribeJobDifferences(saved, job), IsEmpty());
}

// No option may slip through that changes how much state there is.
TEST(ResumeRulesTest, OptimizersThatMayFollowEachOtherKeepAsMuchState) {
  const std::string optimizers[] = {
      "sgd {}",
      "sgd { momentum: 0.5 }",
      "sgd { momentum: 0.9 nesterov: true }",
      "adagrad {}",
      "adagrad { initial_accumulator: 1 epsilon: 0.1 }",
      "rms_prop {}",
      "rms_prop { momentum: 0.5 alpha: 0.5 }",
      "adam {}",
      "adam { beta1: 0 beta2: 0 epsilon: 1 }",
      "adam_w {}",
      "adam_w { beta1: 0 beta2: 0 epsilon: 1 }",
      "lamb {}",
      "lamb { beta1: 0 beta2: 0 epsilon: 1 }",
  };
  const auto with = [](const std::string& optimizer) {
    v1::ResolvedJob job = ExampleJob({});
    job.mutable_job()->mutable_cluster()->set_instruction_set(
        v1::INSTRUCTION_SET_LEVEL2);
    job.mutable_job()->clear_optimizer();
    return WithChange(job, absl::StrCat("job { training { batch_size: 1 "
                                        "leaf_count: 1 } consistency { mode: "
                                        "CONSISTENCY_SYNC } optimizer { ",
                                        optimizer, " learning_rate: 1 } }"));
  };
  const auto slots = [&with](const std::string& optimizer) {
    const auto job = ShardJob::Create(with(optimizer));
    EXPECT_TRUE(job.ok()) << optimizer << ": " << job.status();
    return job.ok() ? (*job)->optimizer->SlotCount() : -1;
  };
  for (const std::string& was : optimizers) {
    for (const std::string& is : optimizers) {
      if (CheckCanGoOn(with(was), with(is)).ok()) {
        EXPECT_EQ(slots(was), slots(is)) << was << ", then " << is;
      }
    }
  }
}

}  // namespace
}  // namespace selari
