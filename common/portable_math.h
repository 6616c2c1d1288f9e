// A few functions of doubles whose bits are the same on every machine.
// The C library's pow, exp and cos choose an implementation for the processor
// at hand and may differ between machines in the last bit, which would end in
// the weights. These use only correctly rounded operations in a fixed order.
// Not fast: meant for a few calls an update, not for a loop over elements.
// Pure: safe from any thread.

#ifndef SELARI_COMMON_PORTABLE_MATH_H_
#define SELARI_COMMON_PORTABLE_MATH_H_

#include <cstdint>

namespace selari {

// base^exponent by repeated squaring, exponent >= 0; 0^0 is 1. The relative
// error is at most about exponent * 2^-53. Goes to 0 (or infinity) for large
// exponents, never to NaN for a finite base.
double PowInt(double base, int64_t exponent);

// base^exponent for base >= 0 and exponent > 0, both finite. The relative
// error is at most 4e-16 * (1 + |exponent * log(base)|) while the result is a
// normal number.
double Pow(double base, double exponent);

// cos(pi * x) for x in [0, 1], within 1e-15.
double CosPi(double x);

}  // namespace selari

#endif  // SELARI_COMMON_PORTABLE_MATH_H_
