#include "kernels/relu.h"

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

TEST(ReluTest, ForwardEqualsTheReferenceExactly) {
  for (int64_t n : TestSizes()) {
    const std::vector<float> x = TestFloats(1, n);
    KernelCase c;
    c.name = "n " + std::to_string(n);
    c.run = [&](const Kernels& kernels, TestArrays* arrays) {
      kernels.relu.forward(n, arrays->In(x), arrays->Out(n));
    };
    c.want.resize(n);
    reference::ReluForward(n, ToDouble(x).data(), c.want.data());
    CheckKernelCase(c);
  }
}

TEST(ReluTest, BackwardInPlaceEqualsTheReferenceExactly) {
  for (int64_t n : TestSizes()) {
    std::vector<float> y = TestFloats(1, n);
    reference::ReluForward(n, y.data(), y.data());
    const std::vector<float> grad = TestFloats(2, n);
    KernelCase c;
    c.name = "n " + std::to_string(n);
    c.run = [&](const Kernels& kernels, TestArrays* arrays) {
      float* in_place = arrays->InOut(grad);
      kernels.relu.backward(n, arrays->In(y), in_place, in_place);
    };
    c.want.resize(n);
    reference::ReluBackward(n, ToDouble(y).data(), ToDouble(grad).data(),
                            c.want.data());
    CheckKernelCase(c);
  }
}

TEST(ReluTest, NanIsNeverHidden) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x(20, nan);
  const std::vector<float> grad(20, 3.0f);
  for (IsaLevel level : AvailableLevels()) {
    const std::vector<float> outputs =
        RunKernel(level, [&](const Kernels& kernels, TestArrays* arrays) {
          float* y = arrays->Out(20);
          kernels.relu.forward(20, arrays->In(x), y);
          kernels.relu.backward(20, y, arrays->In(grad), arrays->Out(20));
        });
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(std::isnan(outputs[i]));
      EXPECT_EQ(outputs[20 + i], 3.0f);
    }
  }
}

}  // namespace
}  // namespace selari
