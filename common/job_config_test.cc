#include "common/job_config.h"

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

v1::Job Parse(const std::string& text) {
  v1::Job job;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &job));
  FillJobDefaults(&job);
  return job;
}

constexpr char kGood[] = R"pb(
  data { train { npy { features: "x.npy" labels: "y.npy" } } }
  model {
    layers { dense { units: 10 } }
    loss: LOSS_SOFTMAX_CROSS_ENTROPY
  }
  optimizer {
    sgd {}
    learning_rate: 0.1
  }
)pb";

TEST(JobConfigTest, DefaultsMakeAValidJob) {
  const v1::Job job = Parse(kGood);
  EXPECT_TRUE(ValidateJob(job).ok()) << ValidateJob(job);
  EXPECT_EQ(job.training().leaf_count(), 8);
  EXPECT_EQ(job.cluster().shard_count(), 16);
  EXPECT_EQ(job.consistency().mode(), v1::CONSISTENCY_SYNC);
}

TEST(JobConfigTest, FillingTwiceChangesNothing) {
  v1::Job job = Parse(kGood);
  const std::string once = job.SerializeAsString();
  FillJobDefaults(&job);
  EXPECT_EQ(job.SerializeAsString(), once);
}

TEST(JobConfigTest, AnErrorNamesFieldValueAndRange) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"training { batch_size: -3 }",
            "training.batch_size is -3, must be in [1, 1073741824]"},
           {"training { leaf_count: 1025 }",
            "training.leaf_count is 1025, must be in [1, 1024]"},
           {"cluster { workers: 9 }",
            "cluster.workers is 9 but training.leaf_count 8: in "
            "CONSISTENCY_SYNC some workers would have nothing to do; raise "
            "leaf_count"},
           {"cluster { servers: 17 }",
            "cluster.servers is 17 but cluster.shard_count 16: some servers "
            "would host nothing; raise shard_count"},
           {"name: 'Big Job'",
            "name is \"Big Job\", must be 1 to 63 characters of a-z, 0-9 and "
            "-"},
           {"consistency { staleness: 2 }",
            "consistency.staleness is 2 but only CONSISTENCY_BOUNDED uses it; "
            "mode is CONSISTENCY_SYNC"},
       }) {
    v1::Job job = Parse(std::string(kGood) + c.text);
    const absl::Status status = ValidateJob(job);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.text;
    EXPECT_EQ(status.message(), c.message);
  }
}

TEST(JobConfigTest, ImpossibleDataIsRefused) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"shift: nan", "data.shift is nan, must be finite"},
           {"scale: -inf", "data.scale is -inf, must be finite"},
           {"feature_shape: [8, -8]",
            "data.feature_shape is -8, must be in [1, 4611686018427387904]"},
           {"class_count: -1",
            "data.class_count is -1, must be in [0, 1073741824]"},
           {"train_sample_count: -5",
            "data.train_sample_count is -5, must be in [0, "
            "4611686018427387904]"},
           {"train { sample_limit: -1 }",
            "data.train.sample_limit is -1, must be in [0, "
            "4611686018427387904]"},
       }) {
    v1::Job job = Parse(kGood);
    v1::Data data;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(c.text, &data));
    job.mutable_data()->MergeFrom(data);
    EXPECT_EQ(ValidateJob(job).message(), c.message);
  }
}

TEST(JobConfigTest, LambIsRefusedOutsideOfSync) {
  const v1::Job job = Parse(R"pb(
    data { train { npy { features: "x.npy" labels: "y.npy" } } }
    model { layers { dense { units: 10 } } }
    optimizer {
      lamb {}
      learning_rate: 0.1
    }
    consistency { mode: CONSISTENCY_ASYNC }
  )pb");
  EXPECT_EQ(ValidateJob(job).code(), absl::StatusCode::kInvalidArgument);
}

TEST(JobConfigTest, AnEpochRoundsItsLastBatchUp) {
  v1::Job job = Parse(kGood);
  job.mutable_training()->set_epochs(3);
  job.mutable_training()->set_batch_size(64);
  EXPECT_EQ(TotalSteps(job, 60000), 3 * 938);
  job.mutable_training()->set_steps(7);
  EXPECT_EQ(TotalSteps(job, 60000), 7);
}

TEST(JobConfigTest, NoughtStepsAndEpochsAreAsIfUnset) {
  v1::Job job = Parse(kGood);
  job.mutable_training()->set_epochs(3);
  job.mutable_training()->set_steps(0);
  FillJobDefaults(&job);
  EXPECT_TRUE(ValidateJob(job).ok());
  EXPECT_EQ(TotalSteps(job, 6400), 3 * 100);
  job.mutable_training()->set_epochs(0);
  FillJobDefaults(&job);
  EXPECT_EQ(TotalSteps(job, 6400), 100);
}

}  // namespace
}  // namespace selari
