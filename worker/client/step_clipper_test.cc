#include "worker/client/step_clipper.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

std::shared_ptr<const FloatBuffer> Buffer(std::vector<float> values) {
  auto buffer = FloatBuffer::Allocate(static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), buffer->data());
  return buffer;
}

TEST(StepClipperTest, ScalesTheWholeStepToTheNorm) {
  StepClipper clipper(2, 0, 1);
  auto none = clipper.Add(3, 1, Buffer({4}));
  ASSERT_TRUE(none.ok() && none->empty());
  EXPECT_FALSE(clipper.empty());

  const auto all = clipper.Add(3, 0, Buffer({3, 0}));

  ASSERT_TRUE(all.ok() && all->size() == 2) << all.status();
  EXPECT_NEAR((*all)[0]->data()[0], 0.6f, 1e-6f);
  EXPECT_NEAR((*all)[1]->data()[0], 0.8f, 1e-6f);
  EXPECT_TRUE(clipper.empty());
}

TEST(StepClipperTest, SmallGradientStaysAsItIs) {
  StepClipper clipper(1, 0, 10);
  const auto all = clipper.Add(0, 0, Buffer({3, 4}));
  EXPECT_EQ((*all)[0]->data()[1], 4.0f);
}

TEST(StepClipperTest, ValuesAreCutBeforeTheNorm) {
  StepClipper clipper(1, 1, 1);
  const auto all = clipper.Add(0, 0, Buffer({100, -1}));
  EXPECT_NEAR((*all)[0]->data()[0], std::sqrt(0.5f), 1e-6f);
  EXPECT_NEAR((*all)[0]->data()[1], -std::sqrt(0.5f), 1e-6f);
}

TEST(StepClipperTest, TensorTwiceOrTwoStepsAtOnceAreRefused) {
  StepClipper clipper(2, 0, 1);
  ASSERT_TRUE(clipper.Add(0, 0, Buffer({1})).ok());
  EXPECT_EQ(clipper.Add(0, 0, Buffer({1})).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(clipper.Add(1, 1, Buffer({1})).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace selari
