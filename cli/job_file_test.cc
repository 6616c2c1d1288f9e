#include "cli/job_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/file_env.h"
#include "common/posix_file_env.h"
#include "common/printable.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

constexpr char kJob[] = R"pb(
  name: "first"
  model {
    layers { dense { units: 10 } }
    layers { relu {} }
  }
  optimizer {
    sgd { momentum: 0.9 }
    learning_rate: 0.1
  }
)pb";

v1::Job Job() {
  auto job = ParseJob(kJob, "job.textproto");
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

TEST(JobFileTest, AnErrorNamesFileLineAndColumn) {
  const auto job = ParseJob("name: \"x\"\nsede: 3\n", "job.textproto");
  EXPECT_EQ(job.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(job.status().message(),
            "job.textproto:2:5: Message type \"selari.v1.Job\" has no field "
            "named \"sede\", did you mean seed?");
}

TEST(JobFileTest, AnEndThatComesTooEarlyIsNamed) {
  const auto job = ParseJob("name: \"x\"\ntraining {\n", "job.textproto");
  EXPECT_THAT(std::string(job.status().message()),
              HasSubstr("the end of the file; is a } missing?"));
}

TEST(JobFileTest, WhatIsNoJobFileIsRefusedWithItsName) {
  PosixFileEnv env;
  const std::string pipe = JoinPath(testing::TempDir(), "pipe");
  ::unlink(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string empty = JoinPath(testing::TempDir(), "empty");
  ASSERT_TRUE(WriteFileAtomically(env, empty, "").ok());
  const std::string zeros = JoinPath(testing::TempDir(), "zeros");
  ASSERT_TRUE(WriteFileAtomically(env, zeros, std::string(5 << 20, 0)).ok());
  const auto wrong = absl::StatusCode::kInvalidArgument;
  struct Case {
    std::string path;
    absl::StatusCode code;
    std::string reason;
  };
  for (const Case& c : std::vector<Case>{
           {"/nowhere/job", absl::StatusCode::kNotFound, "No such file"},
           {"/", wrong, "Is a directory"},
           {"/dev/null", wrong, "a device"},
           {"/dev/zero", wrong, "a device"},
           {pipe, wrong, "a pipe"},
           {empty, wrong, "is empty"},
           {zeros, wrong, "has 5242880 bytes"},
       }) {
    const absl::Status status = LoadJobFile(env, c.path).status();
    EXPECT_EQ(status.code(), c.code) << status;
    const std::string message(status.message());
    EXPECT_NE(message.find(c.path), std::string::npos) << status;
    EXPECT_NE(message.find(c.reason), std::string::npos) << status;
  }
}

TEST(JobFileTest, WhatAMessageRepeatsIsEscapedAndCut) {
  const std::string binary = std::string(5000, '\x1b');
  v1::Job job;
  for (const std::string& message :
       {std::string(ParseJob(binary, "j").status().message()),
        std::string(ParseJob(std::string(5000, 'x'), "j").status().message()),
        std::string(SetJobField(binary, &job).message()),
        std::string(SetJobField("seed=" + binary, &job).message()),
        std::string(SetJobField(binary + "=1", &job).message()),
        std::string(SetJobField("model.loss=" + binary, &job).message())}) {
    EXPECT_NE(message, "");
    EXPECT_LT(message.size(), 900u) << message;
    EXPECT_EQ(message, Printable(message));
  }
}

TEST(JobFileTest, WhatIsNotUtf8IsNamed) {
  v1::Job job = Job();
  EXPECT_TRUE(CheckUtf8(job).ok());
  ASSERT_TRUE(SetJobField("data.train.csv.path=caf\xe9.csv", &job).ok());
  EXPECT_EQ(CheckUtf8(job),
            absl::InvalidArgumentError(
                "data: train: csv: path: \"caf\\xe9.csv\" is not UTF-8"));
  job = Job();
  job.mutable_model()->mutable_layers(1)->set_name("\xff");
  EXPECT_FALSE(CheckUtf8(job).ok());
  job = Job();
  job.mutable_data()->mutable_train()->mutable_csv()->add_feature_columns(
      "\xff");
  EXPECT_FALSE(CheckUtf8(job).ok());
}

TEST(JobFileTest, SetChangesScalarsStringsEnumsAndEntries) {
  v1::Job job = Job();
  for (const char* assignment :
       {"optimizer.learning_rate=0.5", "name=second run\"s",
        "consistency.mode=async", "model.layers[0].dense.units=64",
        "data.feature_shape=[28, 28, 1]", "cluster.servers=3",
        "model.loss=LOSS_LOGISTIC", "data.standardize=true"}) {
    const absl::Status status = SetJobField(assignment, &job);
    EXPECT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(job.optimizer().learning_rate(), 0.5);
  EXPECT_EQ(job.name(), "second run\"s");
  EXPECT_EQ(job.consistency().mode(), v1::CONSISTENCY_ASYNC);
  EXPECT_EQ(job.model().layers(0).dense().units(), 64);
  EXPECT_EQ(job.data().feature_shape_size(), 3);
  EXPECT_EQ(job.cluster().servers(), 3);
  EXPECT_EQ(job.model().loss(), v1::LOSS_LOGISTIC);
  EXPECT_TRUE(job.data().standardize());
}

TEST(JobFileTest, SettingAMessageReplacesItAndTheOthersOfItsOneof) {
  v1::Job job = Job();
  ASSERT_TRUE(SetJobField("optimizer.adam={beta1: 0.8}", &job).ok());
  EXPECT_FALSE(job.optimizer().has_sgd());
  EXPECT_EQ(job.optimizer().adam().beta1(), 0.8);
  ASSERT_TRUE(SetJobField("optimizer.sgd={}", &job).ok());
  EXPECT_EQ(job.optimizer().sgd().momentum(), 0);
  EXPECT_EQ(job.optimizer().learning_rate(), 0.1);
}

TEST(JobFileTest, WhatCannotBeSetIsExplained) {
  v1::Job job = Job();
  EXPECT_EQ(SetJobField("optimizer.sgd.momentun=1", &job).message(),
            "--set optimizer.sgd.momentun=1: there is no field \"momentun\" "
            "in Sgd, did you mean momentum?");
  EXPECT_EQ(SetJobField("model.layers[7].dense.units=1", &job).message(),
            "--set model.layers[7].dense.units=1: \"layers\" has 2 entries; "
            "name one, e.g. layers[0]");
  struct Case {
    const char* assignment;
    const char* reason;
  };
  for (const Case& c : std::vector<Case>{
           {"optimizer.learning_rate=",
            "learning_rate is empty, must be a number"},
           {"optimizer.learning_rate=fast",
            "learning_rate is \"fast\", must be a number"},
           {"seed=-1",
            "seed is \"-1\", must be a whole number from 0 on, below 2^64"},
           {"seed=1 name: \"x\"",
            "seed is \"1 name: \"x\"\", must be a whole number from 0 on, "
            "below 2^64"},
           {"data.standardize=maybe",
            "standardize is \"maybe\", must be true or false"},
           {"optimizer.sgd=fast",
            "Message type \"selari.v1.Sgd\" has no field named \"fast\", "
            "which has momentum, nesterov"},
       }) {
    EXPECT_EQ(SetJobField(c.assignment, &job).message(),
              "--set " + std::string(c.assignment) + ": " + c.reason);
  }
  for (const char* bad :
       {"seed", "=1", "seed=abc", "seed=-1", "seed.x=1", "model.layers[x].a=1",
        "consistency.mode=MAYBE", "cluster.servers=1.5",
        "cluster.servers=99999999999", "optimizer.adam={beta9: 1}", "..=1"}) {
    EXPECT_EQ(SetJobField(bad, &job).code(), absl::StatusCode::kInvalidArgument)
        << bad;
  }
}

}  // namespace
}  // namespace selari
