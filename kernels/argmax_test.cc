#include "kernels/argmax.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ArgmaxTest, FindsTheLargestOnTheGrid) {
  for (int64_t rows : TestSizes()) {
    for (int64_t dim : TestDims()) {
      const std::vector<float> x = TestFloats(1, rows * dim);
      std::vector<int32_t> want(rows);
      for (int64_t r = 0; r < rows; ++r) {
        const auto begin = x.begin() + r * dim;
        want[r] =
            static_cast<int32_t>(std::max_element(begin, begin + dim) - begin);
      }
      std::vector<int32_t> wrong = want;
      if (rows > 0) {
        wrong[rows / 2] += 1;
      }
      for (IsaLevel level : AvailableLevels()) {
        const ArgmaxKernels& argmax = KernelsFor(level).argmax;
        std::vector<int32_t> got(rows);
        argmax.rows(rows, dim, x.data(), got.data());
        EXPECT_EQ(got, want);
        EXPECT_EQ(argmax.count_correct(rows, dim, x.data(), want.data()), rows);
        EXPECT_EQ(argmax.count_correct(rows, dim, x.data(), wrong.data()),
                  rows - (rows > 0 ? 1 : 0));
      }
    }
  }
}

TEST(ArgmaxTest, TiesGoToTheLowestIndexAndNanIsLargestButWrong) {
  const std::vector<float> x = {1.0f, 2.0f, 2.0f,  //
                                9.0f, kNan, kNan};
  const std::vector<int32_t> labels = {1, 1};
  for (IsaLevel level : AvailableLevels()) {
    const ArgmaxKernels& argmax = KernelsFor(level).argmax;
    std::vector<int32_t> got(2);
    argmax.rows(2, 3, x.data(), got.data());
    EXPECT_EQ(got, labels);
    EXPECT_EQ(argmax.count_correct(2, 3, x.data(), labels.data()), 1);
  }
}

TEST(ArgmaxTest, BinaryCountsTheSignOfTheLogit) {
  const std::vector<float> logits = {2.0f, -1.0f, 0.0f, 3.0f, kNan, kNan};
  const std::vector<int32_t> labels = {1, 0, 0, 0, 0, 1};
  for (IsaLevel level : AvailableLevels()) {
    EXPECT_EQ(KernelsFor(level).argmax.count_correct_binary(6, logits.data(),
                                                            labels.data()),
              3);
  }
}

}  // namespace
}  // namespace selari
