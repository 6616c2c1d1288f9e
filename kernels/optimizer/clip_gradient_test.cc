#include "kernels/optimizer/clip_gradient.h"

#include <cmath>
#include <vector>

#include "common/isa.h"
#include "gtest/gtest.h"
#include "kernels/optimizer/choose_optimizer_kernels.h"

namespace selari {
namespace {

// {3, -4} and {12}: norm 13.
class ClipGradientTest : public testing::Test {
 protected:
  void Clip(double clip_value, double clip_global_norm) {
    ClipGradient(ChooseOptimizerKernels(DetectIsaLevel()), clip_value,
                 clip_global_norm,
                 {absl::MakeSpan(first_), absl::MakeSpan(second_)});
  }

  std::vector<float> first_ = {3, -4};
  std::vector<float> second_ = {12};
};

TEST_F(ClipGradientTest, ZeroSwitchesItOff) {
  Clip(0, 0);
  EXPECT_EQ(first_, std::vector<float>({3, -4}));
  EXPECT_EQ(second_, std::vector<float>({12}));
}

TEST_F(ClipGradientTest, NormIsTakenOverAllTensors) {
  Clip(0, 6.5);
  EXPECT_NEAR(first_[0], 1.5, 1e-6);
  EXPECT_NEAR(first_[1], -2, 1e-6);
  EXPECT_NEAR(second_[0], 6, 1e-6);
}

TEST_F(ClipGradientTest, ValuesAreCutBeforeTheNormIsTaken) {
  Clip(3, 1);  // (3, -3, 3)
  EXPECT_NEAR(first_[0], std::sqrt(1.0 / 3), 1e-6);
  EXPECT_NEAR(first_[1], -std::sqrt(1.0 / 3), 1e-6);
  EXPECT_NEAR(second_[0], std::sqrt(1.0 / 3), 1e-6);
}

TEST_F(ClipGradientTest, SmallGradientIsUntouched) {
  Clip(100, 13.1);
  EXPECT_EQ(first_, std::vector<float>({3, -4}));
  EXPECT_EQ(second_, std::vector<float>({12}));
}

}  // namespace
}  // namespace selari
