#include "server/coordinator/resume.h"

#include <vector>

#include "common/fault_file_env.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/checkpoint/checkpoint_fixture.h"

namespace selari {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class ResumeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto path = WriteExample(env_, "/out/checkpoints", example_);
    ASSERT_TRUE(path.ok()) << path.status();
    path_ = *path;
  }
  absl::StatusOr<PublishedCheckpoint> Check(const v1::ResolvedJob& job) {
    return CheckResume(env_, job, path_, [this](absl::string_view line) {
      log_.emplace_back(line);
    });
  }

  ExampleOptions example_;
  FaultFileEnv env_;
  std::string path_;
  std::vector<std::string> log_;
};

TEST_F(ResumeTest, AnotherModelIsRefused) {
  v1::ResolvedJob job = ExampleJob(example_);
  job.mutable_tensors(0)->set_name("another");
  EXPECT_EQ(Check(job).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ResumeTest, MissingCheckpointIsNotFound) {
  path_ = "/out/none";
  EXPECT_EQ(Check(ExampleJob(example_)).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(ResumeTest, TellsTheStepAndDifferences) {
  v1::ResolvedJob job = ExampleJob(example_);
  const auto resume = Check(job);
  ASSERT_TRUE(resume.ok()) << resume.status();
  EXPECT_EQ(resume->step, example_.step);
  EXPECT_EQ(resume->path, path_);
  EXPECT_THAT(log_, IsEmpty());
  job.mutable_job()->mutable_optimizer()->set_learning_rate(0.5);
  EXPECT_TRUE(Check(job).ok());
  EXPECT_THAT(log_, SizeIs(1));
}

}  // namespace
}  // namespace selari
