#include "worker/model/evaluation.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/isa.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"
#include "worker/model/model_plan.h"
#include "worker/model/network.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

TEST(AreaUnderCurveTest, CountsPairsInTheRightOrder) {
  EXPECT_EQ(AreaUnderCurve({0.1f, 0.4f, 0.35f, 0.8f}, {0, 0, 1, 1}), 0.75);
  EXPECT_EQ(AreaUnderCurve({1, 2}, {0, 1}), 1.0);
  EXPECT_EQ(AreaUnderCurve({1, 2}, {1, 0}), 0.0);
}

TEST(AreaUnderCurveTest, TiesCountHalf) {
  EXPECT_EQ(AreaUnderCurve({1, 1, 1}, {0, 1, 0}), 0.5);
}

TEST(AreaUnderCurveTest, NeedsBothClasses) {
  EXPECT_EQ(AreaUnderCurve({1, 2}, {1, 1}), std::nullopt);
  EXPECT_EQ(AreaUnderCurve({}, {}), std::nullopt);
}

// One weight: the sign of the only feature decides.
class EvaluationTest : public ::testing::Test {
 protected:
  static constexpr int64_t kSamples = 601;

  EvaluationTest() {
    v1::Model model;
    model.set_loss(v1::LOSS_LOGISTIC);
    model.add_layers()->mutable_dense()->set_units(1);
    plan_ = *PlanModel(model, {1}, 2);
    dataset_.source = "test set";
    dataset_.size = kSamples;
    dataset_.dim = 1;
    dataset_.class_count = 2;
    dataset_.features = FloatBuffer::Allocate(kSamples);
    FillNormal(MakeRandomKey(1, RandomStream::kTest), 0, 0, 1,
               {dataset_.features->data(), kSamples});
    for (int64_t i = 0; i < kSamples; ++i) {
      dataset_.labels.push_back(dataset_.row(i)[0] > 0 ? 1 : 0);
    }
  }

  absl::StatusOr<EvaluationResult> Run(float weight, int threads) {
    NetworkOptions options;
    options.thread_count = threads;
    Network network(plan_, KernelsFor(DetectIsaLevel()), options);
    const std::vector<float> weights = {weight}, bias = {0};
    const std::vector<absl::Span<const float>> tensors = {weights, bias};
    return Evaluate(tensors, dataset_, &network);
  }

  ModelPlan plan_;
  Dataset dataset_;
};

TEST_F(EvaluationTest, MeasuresAPerfectAndAReversedModel) {
  const auto perfect = Run(1.0f, 1);
  ASSERT_TRUE(perfect.ok()) << perfect.status();
  EXPECT_EQ(perfect->sample_count, kSamples);
  EXPECT_EQ(perfect->accuracy, 1.0);
  EXPECT_EQ(perfect->auc, 1.0);
  EXPECT_LT(perfect->loss, 0.6931);
  EXPECT_EQ(Run(-1.0f, 1)->auc, 0.0);
}

TEST_F(EvaluationTest, ThreadsDoNotChangeTheResult) {
  const auto one = Run(0.3f, 1);
  const auto three = Run(0.3f, 3);
  ASSERT_TRUE(one.ok() && three.ok());
  EXPECT_EQ(one->loss, three->loss);
  EXPECT_EQ(one->accuracy, three->accuracy);
  EXPECT_EQ(one->auc, three->auc);
}

TEST_F(EvaluationTest, NamesTheSamplesOfALossThatIsNotFinite) {
  dataset_.features->data()[300] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(std::string(Run(1.0f, 1).status().message()),
              HasSubstr("test set: the loss of samples 250 to 499"));
}

}  // namespace
}  // namespace selari
