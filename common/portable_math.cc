#include "common/portable_math.h"

#include <cmath>

#include "common/check.h"

namespace selari {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kSqrtHalf = 0.70710678118654752440;
// ln 2 in two parts: the first has 32 trailing zero bits, so that its product
// with an exponent is exact.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// log(x) for x > 0: with x = m 2^e and m in [sqrt(1/2), sqrt(2)),
// log(m) = 2 atanh(s), s = (m - 1) / (m + 1), |s| < 0.172, as a series whose
// first omitted term is below 1e-18.
double Log(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // [0.5, 1)
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double s = (mantissa - 1) / (mantissa + 1);
  const double s2 = s * s;
  double series = 0;
  for (int k = 23; k >= 3; k -= 2) {
    series = (series + 1.0 / k) * s2;
  }
  return exponent * kLn2High + (exponent * kLn2Low + 2 * s * (1 + series));
}

// exp(y): with y = k ln 2 + r and |r| <= 0.35, the Taylor series of exp(r)
// up to r^15, then a shift by k, which is exact.
double Exp(double y) {
  constexpr double kExponentMax = 750;  // past the range of a double
  if (y < -kExponentMax) {
    return 0;
  }
  const double k = std::floor(std::fmin(y, kExponentMax) / kLn2High + 0.5);
  const double r = (y - k * kLn2High) - k * kLn2Low;
  double series = 1;
  for (int i = 15; i >= 1; --i) {
    series = 1 + series * r / i;
  }
  return std::ldexp(series, static_cast<int>(k));
}

// Taylor series, |x| <= pi / 4; first omitted terms below 1e-19.
double CosSmall(double x) {
  const double x2 = x * x;
  double series = 1;
  for (int i = 20; i >= 2; i -= 2) {
    series = 1 - series * x2 / (i * (i - 1));
  }
  return series;
}

double SinSmall(double x) {
  const double x2 = x * x;
  double series = 1;
  for (int i = 21; i >= 3; i -= 2) {
    series = 1 - series * x2 / (i * (i - 1));
  }
  return x * series;
}

}  // namespace

double PowInt(double base, int64_t exponent) {
  SELARI_CHECK(exponent >= 0);
  double result = 1;
  double power = base;
  while (exponent > 0) {
    if ((exponent & 1) != 0) {
      result *= power;
    }
    exponent >>= 1;
    if (exponent > 0) {
      power *= power;
    }
  }
  return result;
}

double Pow(double base, double exponent) {
  SELARI_CHECK(base >= 0 && exponent > 0);
  // Whole powers are the common case, and exact for simple bases.
  constexpr double kWholeExponentMax = 16;
  if (exponent <= kWholeExponentMax && std::floor(exponent) == exponent) {
    return PowInt(base, static_cast<int64_t>(exponent));
  }
  if (base == 0 || base == 1) {
    return base;
  }
  return Exp(exponent * Log(base));
}

double CosPi(double x) {
  SELARI_CHECK(x >= 0 && x <= 1);
  if (x <= 0.25) {
    return CosSmall(kPi * x);
  }
  if (x < 0.75) {
    return SinSmall(kPi * (0.5 - x));
  }
  return -CosSmall(kPi * (1 - x));
}

}  // namespace selari
