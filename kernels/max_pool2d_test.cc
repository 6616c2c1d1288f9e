#include "kernels/max_pool2d.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"
#include "kernels/reference/reference.h"

namespace selari {
namespace {

class MaxPool2DTest : public testing::TestWithParam<MaxPool2DShape> {};

// Windows that tile, overlap and leave gaps; channels around a vector.
INSTANTIATE_TEST_SUITE_P(Shapes, MaxPool2DTest,
                         testing::Values(MakeMaxPool2DShape(2, 6, 8, 3, 2, 2),
                                         MakeMaxPool2DShape(1, 7, 7, 17, 3, 2),
                                         MakeMaxPool2DShape(2, 9, 5, 64, 2, 3),
                                         MakeMaxPool2DShape(1, 5, 5, 1, 5, 1),
                                         MakeMaxPool2DShape(1, 2, 2, 4, 3, 1)));

TEST_P(MaxPool2DTest, ForwardAndBackwardEqualTheReferenceExactly) {
  const MaxPool2DShape shape = GetParam();
  const int64_t in_size =
      shape.batch * shape.in_height * shape.in_width * shape.channels;
  const int64_t out_size =
      shape.batch * shape.out_height * shape.out_width * shape.channels;
  // Halves of small integers: many ties, and sums of gradients are exact.
  std::vector<float> input = TestFloats(1, in_size);
  std::vector<float> grad = TestFloats(2, out_size);
  for (float& x : input) {
    x = std::round(x * 4.0f) / 2.0f;
  }
  for (float& x : grad) {
    x = std::round(x * 64.0f) / 2.0f;
  }
  std::vector<float> output(out_size);
  std::vector<int32_t> argmax(out_size);
  std::vector<float> input_grad(in_size);
  reference::MaxPool2DForward(shape, input.data(), output.data(),
                              argmax.data());
  reference::MaxPool2DBackward(shape, grad.data(), argmax.data(),
                               input_grad.data());
  KernelCase c;
  c.run = [&](const Kernels& kernels, TestArrays* arrays) {
    std::vector<int32_t> got(out_size);
    kernels.max_pool2d.forward(shape, arrays->In(input), arrays->Out(out_size),
                               got.data());
    EXPECT_EQ(got, argmax);
    kernels.max_pool2d.backward(shape, arrays->In(grad), got.data(),
                                arrays->Out(in_size));
  };
  c.want = ToDouble(output);
  c.want.insert(c.want.end(), input_grad.begin(), input_grad.end());
  CheckKernelCase(c);
}

TEST(MaxPool2DNanTest, NanWinsItsWindowOnly) {
  const MaxPool2DShape shape = MakeMaxPool2DShape(1, 2, 6, 1, 2, 2);
  std::vector<float> input = TestFloats(1, 12);
  input[2] = std::numeric_limits<float>::quiet_NaN();  // middle window, first
  for (IsaLevel level : AvailableLevels()) {
    std::vector<int32_t> argmax(3);
    const std::vector<float> output =
        RunKernel(level, [&](const Kernels& kernels, TestArrays* arrays) {
          kernels.max_pool2d.forward(shape, arrays->In(input), arrays->Out(3),
                                     argmax.data());
        });
    EXPECT_FALSE(std::isnan(output[0]));
    EXPECT_TRUE(std::isnan(output[1]));
    EXPECT_FALSE(std::isnan(output[2]));
    EXPECT_EQ(argmax[1], 2);
  }
}

}  // namespace
}  // namespace selari
