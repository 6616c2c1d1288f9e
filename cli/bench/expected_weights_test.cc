#include "cli/bench/expected_weights.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

class ExpectedWeightsTest : public ::testing::Test {
 protected:
  // Two workers, 10,000 floats.
  void Use(WireOptimizer optimizer) {
    shape_.floats = 10000;
    shape_.workers = 2;
    shape_.optimizer = optimizer;
    auto job = ShardJob::Create(MakeWireJob(shape_, DetectIsaLevel()));
    ASSERT_TRUE(job.ok()) << job.status();
    job_ = *job;
  }

  // SGD with the rate of the job, written out.
  std::vector<float> AfterSgd(int steps) const {
    std::vector<float> a(shape_.floats);
    std::vector<float> b(shape_.floats);
    FillWireGradient(0, 0, absl::MakeSpan(a));
    FillWireGradient(1, 0, absl::MakeSpan(b));
    std::vector<float> weights(shape_.floats, 0.0f);
    for (int step = 0; step < steps; ++step) {
      for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] = weights[i] - 0.01f * (a[i] + b[i]);
      }
    }
    return weights;
  }

  WireShape shape_;
  std::shared_ptr<const ShardJob> job_;
};

TEST_F(ExpectedWeightsTest, SgdIsWhatTheFormulaSays) {
  Use(WireOptimizer::kSgd);
  const ExpectedWeights expected(shape_, job_);
  EXPECT_TRUE(expected.Check(AfterSgd(3), 0, 3).ok());
  const std::vector<float> all = AfterSgd(2);
  const absl::Status part =
      expected.Check(absl::MakeConstSpan(all).subspan(4321), 4321, 2);
  EXPECT_TRUE(part.ok()) << part;
}

TEST_F(ExpectedWeightsTest, OneWrongBitIsNamed) {
  Use(WireOptimizer::kSgd);
  std::vector<float> weights = AfterSgd(1);
  weights[7001] = -weights[7001];
  const absl::Status status =
      ExpectedWeights(shape_, job_).Check(weights, 0, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("weight 7001 "));
}

TEST_F(ExpectedWeightsTest, AnotherVersionIsNoticed) {
  Use(WireOptimizer::kAdam);
  const std::vector<float> zeros(shape_.floats, 0.0f);
  const ExpectedWeights expected(shape_, job_);
  EXPECT_TRUE(expected.Check(zeros, 0, 0).ok());
  EXPECT_FALSE(expected.Check(zeros, 0, 1).ok());
}

TEST_F(ExpectedWeightsTest, NoTwoWorkersPushTheSame) {
  std::vector<float> a(100);
  std::vector<float> b(100);
  FillWireGradient(0, 5, absl::MakeSpan(a));
  FillWireGradient(1, 5, absl::MakeSpan(b));
  EXPECT_NE(a, b);
  EXPECT_GE(*std::min_element(a.begin(), a.end()), -0.5f);
  EXPECT_LT(*std::max_element(a.begin(), a.end()), 0.5f);
}

}  // namespace
}  // namespace selari
