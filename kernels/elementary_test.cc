#include "kernels/elementary.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/kernel_case.h"
#include "kernels/kernels.h"

namespace selari {
namespace {

// The distance from `want` in units of the last place of a float of its size.
double Ulps(float got, double want) {
  const float rounded = static_cast<float>(want);
  if (got == rounded) {  // also inf and 0
    return 0.0;
  }
  const double magnitude = std::abs(want);
  const double unit = magnitude < 0x1p-126
                          ? 0x1p-149
                          : std::ldexp(1.0, std::ilogb(magnitude) - 23);
  return std::abs(got - want) / unit;
}

struct Function {
  const char* name;
  void (*ElementaryKernels::*kernel)(int64_t, const float*, float*);
  double (*libm)(double);
  float low;
  float high;
  double ulps_max;
};

// One line for each range whose accuracy is promised.
const Function kFunctions[] = {
    {"exp, softmax", &ElementaryKernels::exp, &std::exp, -30.0f, 0.0f, 2.0},
    {"exp, near 0", &ElementaryKernels::exp, &std::exp, -1e-3f, 1e-3f, 1.0},
    {"exp, all", &ElementaryKernels::exp, &std::exp, -110.0f, 90.0f, 2.0},
    {"log, near 1", &ElementaryKernels::log, &std::log, 0.5f, 2.0f, 2.0},
    {"log, sums", &ElementaryKernels::log, &std::log, 1.0f, 1e4f, 2.0},
    {"log, large", &ElementaryKernels::log, &std::log, 1e4f, 3e38f, 2.0},
    {"log, tiny", &ElementaryKernels::log, &std::log, 1e-45f, 1e-37f, 2.0},
};

TEST(ElementaryTest, ErrorStaysWithinTheTable) {
  constexpr int64_t kCount = 200000;
  for (const Function& function : kFunctions) {
    SCOPED_TRACE(function.name);
    std::vector<float> x = TestFloats(1, kCount);
    for (float& value : x) {
      value =
          function.low + (value + 1.0f) / 2.0f * (function.high - function.low);
    }
    const std::vector<float> y =
        RunKernel(AvailableLevels().back(),
                  [&](const Kernels& kernels, TestArrays* arrays) {
                    (kernels.elementary.*function.kernel)(kCount, arrays->In(x),
                                                          arrays->Out(kCount));
                  });
    double worst = 0.0;
    float worst_x = 0.0f;
    for (int64_t i = 0; i < kCount; ++i) {
      const double ulps = Ulps(y[i], function.libm(x[i]));
      if (ulps > worst) {
        worst = ulps;
        worst_x = x[i];
      }
    }
    EXPECT_LE(worst, function.ulps_max) << "at " << worst_x;
  }
}

TEST(ElementaryTest, BitsDependNeitherOnLevelNorPosition) {
  for (int64_t n : TestSizes()) {
    std::vector<float> x = TestFloats(1, n);
    KernelCase c;
    c.run = [&](const Kernels& kernels, TestArrays* arrays) {
      float* y = arrays->Out(n);
      kernels.elementary.exp(n, arrays->In(x), y);
      kernels.elementary.log(n, y, arrays->Out(n));
    };
    for (float value : x) {
      c.want.push_back(std::exp(static_cast<double>(value)));
    }
    for (float value : x) {
      c.want.push_back(value);
    }
    c.absolute = 5e-7;
    CheckKernelCase(c);
  }
}

TEST(ElementaryTest, EdgesOfTheRange) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float denormal = std::numeric_limits<float>::denorm_min();
  const std::vector<float> exp_in = {0.0f,  -0.0f,   inf, -inf,
                                     89.0f, -104.0f, nan};
  const std::vector<float> exp_out = {1.0f, 1.0f, inf, 0.0f, inf, 0.0f, nan};
  const std::vector<float> log_in = {1.0f,  0.0f, -0.0f,   inf,
                                     -1.0f, nan,  denormal};
  const std::vector<float> log_out = {0.0f, -inf, -inf,           inf,
                                      nan,  nan,  -103.278929903f};
  for (IsaLevel level : AvailableLevels()) {
    const std::vector<float> got =
        RunKernel(level, [&](const Kernels& kernels, TestArrays* arrays) {
          kernels.elementary.exp(7, arrays->In(exp_in), arrays->Out(7));
          kernels.elementary.log(7, arrays->In(log_in), arrays->Out(7));
        });
    for (int i = 0; i < 14; ++i) {
      const float want = i < 7 ? exp_out[i] : log_out[i - 7];
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got[i])) << i;
      } else {
        EXPECT_EQ(got[i], want) << i;
      }
    }
  }
}

}  // namespace
}  // namespace selari
