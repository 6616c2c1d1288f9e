// What `selari bench kernels` measures: the operations that training spends
// its time in, each on one core at this processor's best level.

#ifndef SELARI_CLI_BENCH_KERNEL_CASES_H_
#define SELARI_CLI_BENCH_KERNEL_CASES_H_

#include <cstdint>
#include <vector>

#include "cli/bench/rate_cases.h"

namespace selari {

// Products and convolutions in floating-point operations, everything else in
// bytes read and written, all per second.
std::vector<RateCase> KernelCases();

// Bytes of the arrays that the latter work on: compare with memcpy of as many.
constexpr int64_t kKernelArrayBytes = int64_t{4} << 20;

}  // namespace selari

#endif  // SELARI_CLI_BENCH_KERNEL_CASES_H_
