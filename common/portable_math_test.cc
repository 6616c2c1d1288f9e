#include "common/portable_math.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr double kPi = 3.14159265358979323846;

TEST(PortableMathTest, PowIntAgreesWithTheLibrary) {
  for (const double base : {0.5, 0.9, 0.999, 1.0, 1.001, 2.0}) {
    for (const int64_t exponent : {0, 1, 2, 3, 17, 100, 1000}) {
      const double expected = std::pow(base, static_cast<double>(exponent));
      EXPECT_NEAR(PowInt(base, exponent), expected,
                  2.3e-16 * (1 + exponent) * expected)
          << base << "^" << exponent;
    }
  }
}

TEST(PortableMathTest, PowIntOfTheLargestStepIsZeroOrOne) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(PowInt(0.999, kLargest), 0);
  EXPECT_EQ(PowInt(0, kLargest), 0);
  EXPECT_EQ(PowInt(1, kLargest), 1);
}

TEST(PortableMathTest, PowAgreesWithTheLibrary) {
  for (int i = 0; i <= 1000; ++i) {
    const double base = i / 1000.0;
    for (const double exponent : {0.1, 0.5, 0.9, 1.0, 1.5, 2.0, 3.3, 25.0}) {
      const double expected = std::pow(base, exponent);
      const double growth =
          i == 0 ? 1 : 1 + std::abs(exponent * std::log(base));
      EXPECT_NEAR(Pow(base, exponent), expected, 4e-16 * growth * expected)
          << base << "^" << exponent;
    }
  }
  EXPECT_EQ(Pow(0, 0.5), 0);
  EXPECT_EQ(Pow(1, 0.5), 1);
  EXPECT_NEAR(Pow(1e10, 2.5), 1e25, 1e11);
  EXPECT_EQ(Pow(1e-300, 100.5), 0);
}

TEST(PortableMathTest, CosPiAgreesWithTheLibrary) {
  for (int i = 0; i <= 1000; ++i) {
    const double x = i / 1000.0;
    EXPECT_NEAR(CosPi(x), std::cos(kPi * x), 1e-15) << x;
  }
  EXPECT_EQ(CosPi(0), 1);
  EXPECT_EQ(CosPi(0.5), 0);
  EXPECT_EQ(CosPi(1), -1);
}

}  // namespace
}  // namespace selari
