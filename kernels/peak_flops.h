// The most floating-point operations that one core does per second at an
// instruction-set level: multiply-adds between registers, nothing else. What a
// product of matrices is compared with.

#ifndef SELARI_KERNELS_PEAK_FLOPS_H_
#define SELARI_KERNELS_PEAK_FLOPS_H_

#include <cstdint>

#include "common/isa.h"

namespace selari {

struct PeakFlops {
  // Runs `rounds` rounds, >= 0, of flops_per_round operations, and returns
  // their result, so that they cannot be left out.
  float (*run)(std::int64_t rounds);
  std::int64_t flops_per_round;
};

// Thread-safe. REQUIRES: level <= DetectIsaLevel(), checked.
PeakFlops PeakFlopsFor(IsaLevel level);

}  // namespace selari

#endif  // SELARI_KERNELS_PEAK_FLOPS_H_
