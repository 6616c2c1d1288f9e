#include "kernels/conv2d.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"
#include "kernels/reference/reference.h"

namespace selari {
namespace {

// Batch, height, width, channels, filters, kernel, stride, same padding.
// Channels and filters around vectors and tiles; kernels that are even, as
// large as the image and 1; strides that do and do not divide.
std::vector<Conv2DShape> TestShapes() {
  return {
      MakeConv2DShape(2, 7, 6, 1, 8, 3, 1, true),
      MakeConv2DShape(1, 8, 8, 3, 16, 3, 1, false),
      MakeConv2DShape(3, 9, 7, 4, 5, 3, 2, true),
      MakeConv2DShape(2, 8, 9, 2, 33, 2, 1, true),
      MakeConv2DShape(1, 11, 11, 17, 50, 5, 3, false),
      MakeConv2DShape(2, 5, 5, 16, 64, 5, 1, true),
      MakeConv2DShape(1, 4, 6, 20, 18, 1, 1, false),
      MakeConv2DShape(1, 6, 6, 1, 1, 6, 1, false),
      MakeConv2DShape(1, 7, 7, 2, 3, 1, 2, false),
  };
}

std::string Name(const Conv2DShape& s) {
  return std::to_string(s.in_height) + "x" + std::to_string(s.in_width) + "x" +
         std::to_string(s.in_channels) + " kernel " + std::to_string(s.kernel) +
         " to " + std::to_string(s.out_channels) + " stride " +
         std::to_string(s.stride);
}

class Conv2DTest : public testing::TestWithParam<Conv2DShape> {
 protected:
  const Conv2DShape shape_ = GetParam();
  const int64_t in_size_ =
      shape_.batch * shape_.in_height * shape_.in_width * shape_.in_channels;
  const int64_t out_size_ =
      shape_.batch * shape_.out_height * shape_.out_width * shape_.out_channels;
  const int64_t weight_size_ =
      shape_.kernel * shape_.kernel * shape_.in_channels * shape_.out_channels;
  const std::vector<float> input_ = TestFloats(1, in_size_);
  const std::vector<float> weight_ = TestFloats(2, weight_size_);
  const std::vector<float> bias_ = TestFloats(3, shape_.out_channels);
  const std::vector<float> output_grad_ = TestFloats(4, out_size_);

  // Sums of up to about 500 products of numbers up to 1, see gemm_test.cc.
  KernelCase MakeCase(int64_t outputs) const {
    KernelCase c;
    c.name = Name(shape_);
    c.want.resize(outputs);
    c.absolute = 4.0 * 6e-8 * 500;
    c.is_fused = true;
    return c;
  }

  float* Workspace(const Kernels& kernels, TestArrays* arrays) const {
    return arrays->Workspace(kernels.conv2d.workspace_floats(shape_));
  }
};

TEST_P(Conv2DTest, ForwardAgreesWithTheReference) {
  KernelCase c = MakeCase(out_size_);
  c.run = [&](const Kernels& kernels, TestArrays* arrays) {
    Conv2DForwardArgs args;
    args.shape = shape_;
    args.input = arrays->In(input_);
    args.weight = arrays->In(weight_);
    args.output = arrays->Out(out_size_);
    args.epilogue.bias = arrays->In(bias_);
    args.epilogue.relu = true;
    args.workspace = Workspace(kernels, arrays);
    kernels.conv2d.forward(args);
  };
  reference::Conv2DForward(shape_, ToDouble(input_).data(),
                           ToDouble(weight_).data(), ToDouble(bias_).data(),
                           c.want.data());
  for (double& x : c.want) {
    x = std::max(x, 0.0);
  }
  CheckKernelCase(c);
}

TEST_P(Conv2DTest, InputGradAgreesWithTheReference) {
  KernelCase c = MakeCase(in_size_);
  c.run = [&](const Kernels& kernels, TestArrays* arrays) {
    Conv2DInputGradArgs args;
    args.shape = shape_;
    args.output_grad = arrays->In(output_grad_);
    args.weight = arrays->In(weight_);
    args.input_grad = arrays->Out(in_size_);
    args.relu_output = arrays->In(input_);
    args.workspace = Workspace(kernels, arrays);
    kernels.conv2d.input_grad(args);
  };
  reference::Conv2DInputGrad(shape_, ToDouble(output_grad_).data(),
                             ToDouble(weight_).data(), c.want.data());
  for (int64_t i = 0; i < in_size_; ++i) {
    c.want[i] = input_[i] <= 0 ? 0.0 : c.want[i];
  }
  CheckKernelCase(c);
}

TEST_P(Conv2DTest, WeightGradAgreesWithTheReference) {
  KernelCase c = MakeCase(weight_size_);
  c.run = [&](const Kernels& kernels, TestArrays* arrays) {
    Conv2DWeightGradArgs args;
    args.shape = shape_;
    args.input = arrays->In(input_);
    args.output_grad = arrays->In(output_grad_);
    args.weight_grad = arrays->Out(weight_size_);
    args.workspace = Workspace(kernels, arrays);
    kernels.conv2d.weight_grad(args);
  };
  reference::Conv2DWeightGrad(shape_, ToDouble(input_).data(),
                              ToDouble(output_grad_).data(), c.want.data());
  CheckKernelCase(c);
}

// The oracle itself: its gradients are those of its forward pass. The operation
// is linear in each argument, so a central difference is exact up to rounding.
TEST_P(Conv2DTest, ReferenceGradientsAreThoseOfTheReferenceForward) {
  std::vector<double> input = ToDouble(input_);
  std::vector<double> weight = ToDouble(weight_);
  const std::vector<double> grad = ToDouble(output_grad_);
  std::vector<double> output(out_size_);
  const auto objective = [&] {
    reference::Conv2DForward<double>(shape_, input.data(), weight.data(),
                                     nullptr, output.data());
    double sum = 0.0;
    for (int64_t i = 0; i < out_size_; ++i) {
      sum += output[i] * grad[i];
    }
    return sum;
  };
  std::vector<double> input_grad(in_size_);
  std::vector<double> weight_grad(weight_size_);
  reference::Conv2DInputGrad(shape_, grad.data(), weight.data(),
                             input_grad.data());
  reference::Conv2DWeightGrad(shape_, input.data(), grad.data(),
                              weight_grad.data());
  const auto check = [&](double* x, double want) {
    const double old = *x;
    *x = old + 0.5;
    const double above = objective();
    *x = old - 0.5;
    EXPECT_NEAR(above - objective(), want, 1e-9);
    *x = old;
  };
  for (int64_t i = 0; i < in_size_; i += 1 + in_size_ / 7) {
    check(&input[i], input_grad[i]);
  }
  for (int64_t i = 0; i < weight_size_; i += 1 + weight_size_ / 7) {
    check(&weight[i], weight_grad[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Conv2DTest, testing::ValuesIn(TestShapes()));

TEST(Conv2DSplitTest, ASamplesOutputDoesNotDependOnTheBatch) {
  const Conv2DShape both = MakeConv2DShape(2, 6, 7, 3, 18, 3, 1, true);
  Conv2DShape one = both;
  one.batch = 1;
  const int64_t in = 6 * 7 * 3;
  const int64_t out = 6 * 7 * 18;
  const std::vector<float> input = TestFloats(1, 2 * in);
  const std::vector<float> weight = TestFloats(2, 3 * 3 * 3 * 18);
  for (IsaLevel level : AvailableLevels()) {
    const auto run = [&](const Conv2DShape& shape) {
      return RunKernel(level, [&](const Kernels& kernels, TestArrays* arrays) {
        Conv2DForwardArgs args;
        args.shape = shape;
        args.input = arrays->In(input);
        args.weight = arrays->In(weight);
        args.output = arrays->Out(2 * out);
        args.workspace =
            arrays->Workspace(kernels.conv2d.workspace_floats(shape));
        for (int64_t n = 0; n < 2; n += shape.batch) {
          kernels.conv2d.forward(args);
          args.input += in;
          args.output += out;
        }
      });
    };
    ExpectSameBits(run(one), run(both));
  }
}

TEST(Conv2DShapeTest, SamePaddingRoundsUpAndPutsTheOddPixelAfter) {
  const Conv2DShape shape = MakeConv2DShape(1, 28, 27, 1, 8, 4, 2, true);
  EXPECT_EQ(shape.out_height, 14);
  EXPECT_EQ(shape.out_width, 14);
  EXPECT_EQ(shape.pad_top, 1);
  EXPECT_EQ(shape.pad_left, 1);
}

TEST(Conv2DShapeTest, KernelLargerThanTheImageLeavesNoOutput) {
  const Conv2DShape shape = MakeConv2DShape(1, 3, 9, 1, 8, 5, 1, false);
  EXPECT_EQ(shape.out_height, 0);
  EXPECT_EQ(shape.out_width, 5);
}

}  // namespace
}  // namespace selari
