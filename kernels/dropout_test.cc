#include "kernels/dropout.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"
#include "kernels/reference/reference.h"

namespace selari {
namespace {

DropoutArgs MakeArgs(int64_t rows, int64_t dim, uint64_t first_sample,
                     float rate) {
  DropoutArgs args;
  args.rows = rows;
  args.dim = dim;
  args.key = MakeRandomKey(7, RandomStream::kDropout, 12, 3);
  args.first_sample = first_sample;
  args.rate = rate;
  return args;
}

TEST(DropoutTest, EqualsTheReferenceExactly) {
  constexpr uint64_t kFirstSample = 0x1FFFFFFFE;  // crosses the low half
  for (int64_t rows : {0, 1, 3}) {
    for (int64_t dim : {1, 15, 16, 17, 63, 64, 65, 385}) {
      for (float rate : {0.0f, 0.25f, 0.99999994f}) {
        const std::vector<float> x = TestFloats(1, rows * dim);
        DropoutArgs args = MakeArgs(rows, dim, kFirstSample, rate);
        std::vector<float> want(rows * dim);
        reference::Dropout(rows, dim, args.key, kFirstSample, rate, x.data(),
                           want.data());
        KernelCase c;
        c.name = std::to_string(dim) + " rate " + std::to_string(rate);
        c.run = [&](const Kernels& kernels, TestArrays* arrays) {
          args.y = arrays->InOut(x);
          args.x = args.y;
          kernels.dropout.apply(args);
        };
        c.want = ToDouble(want);
        CheckKernelCase(c);
      }
    }
  }
}

// A sample is dropped alike whichever call computes it.
TEST(DropoutTest, DependsOnTheSampleNotOnTheSplit) {
  constexpr int64_t kDim = 100;
  const std::vector<float> x(8 * kDim, 1.0f);
  const auto run = [&](int64_t rows_per_call) {
    return RunKernel(AvailableLevels().back(), [&](const Kernels& kernels,
                                                   TestArrays* arrays) {
      const float* in = arrays->In(x);
      float* out = arrays->Out(8 * kDim);
      for (int64_t r = 0; r < 8; r += rows_per_call) {
        DropoutArgs args = MakeArgs(rows_per_call, kDim, 40 + r, 0.5f);
        args.x = in + r * kDim;
        args.y = out + r * kDim;
        kernels.dropout.apply(args);
      }
    });
  };
  ExpectSameBits(run(1), run(8));
}

TEST(DropoutTest, DropsTheStatedShareAndKeepsTheMean) {
  constexpr int64_t kRows = 100;
  constexpr int64_t kDim = 1000;
  const std::vector<float> x(kRows * kDim, 1.0f);
  DropoutArgs args = MakeArgs(kRows, kDim, 0, 0.3f);
  const std::vector<float> y =
      RunKernel(IsaLevel::kV2, [&](const Kernels& kernels, TestArrays* arrays) {
        args.x = arrays->In(x);
        args.y = arrays->Out(kRows * kDim);
        kernels.dropout.apply(args);
      });
  double dropped = 0.0;
  double sum = 0.0;
  for (float value : y) {
    dropped += value == 0.0f;
    sum += value;
  }
  EXPECT_NEAR(dropped / y.size(), 0.3, 0.0073);  // five standard errors
  EXPECT_NEAR(sum / y.size(), 1.0, 0.0104);
}

}  // namespace
}  // namespace selari
