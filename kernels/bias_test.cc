#include "kernels/bias.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"
#include "kernels/reference/reference.h"

namespace selari {
namespace {

TEST(BiasTest, AddInPlaceAgreesWithTheReference) {
  for (int64_t rows : TestSizes()) {
    for (int64_t dim : TestDims()) {
      const std::vector<float> x = TestFloats(1, rows * dim);
      const std::vector<float> bias = TestFloats(2, dim);
      KernelCase c;
      c.name = std::to_string(rows) + "x" + std::to_string(dim);
      c.run = [&](const Kernels& kernels, TestArrays* arrays) {
        float* in_place = arrays->InOut(x);
        kernels.bias.add(rows, dim, in_place, arrays->In(bias), in_place);
      };
      c.want.resize(rows * dim);
      reference::BiasAdd(rows, dim, ToDouble(x).data(), ToDouble(bias).data(),
                         c.want.data());
      c.absolute = 1.2e-7;  // one rounding of a number up to 2
      CheckKernelCase(c);
    }
  }
}

TEST(BiasTest, GradAgreesWithTheReference) {
  for (int64_t rows : TestSizes()) {
    for (int64_t dim : TestDims()) {
      const std::vector<float> grad = TestFloats(1, rows * dim);
      KernelCase c;
      c.name = std::to_string(rows) + "x" + std::to_string(dim);
      c.run = [&](const Kernels& kernels, TestArrays* arrays) {
        kernels.bias.grad(rows, dim, arrays->In(grad), arrays->Out(dim));
      };
      c.want.resize(dim);
      reference::BiasGrad(rows, dim, ToDouble(grad).data(), c.want.data());
      // A quarter of the rows in each lane; every addition rounds a sum of
      // about sqrt(rows).
      c.absolute = 6e-8 * (1.0 + static_cast<double>(rows));
      CheckKernelCase(c);
    }
  }
}

TEST(BiasTest, GradAddsInTheOrderOfTheContract) {
  const std::vector<float> grad = TestFloats(1, 10);
  float lanes[4] = {};
  for (int r = 0; r < 10; ++r) {
    lanes[r % 4] += grad[r];
  }
  const float want = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
  for (IsaLevel level : AvailableLevels()) {
    ExpectSameBits(RunKernel(level,
                             [&](const Kernels& kernels, TestArrays* arrays) {
                               kernels.bias.grad(10, 1, arrays->In(grad),
                                                 arrays->Out(1));
                             }),
                   {want});
  }
}

}  // namespace
}  // namespace selari
