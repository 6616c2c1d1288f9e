// The instruction-set level that the kernels run at. A job records its level:
// matrix products round differently without fused multiply-add, so the
// promise of equal bits holds within a level.

#ifndef SELARI_COMMON_ISA_H_
#define SELARI_COMMON_ISA_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace selari {

// The x86-64 micro-architecture levels of the System V psABI. The numbers are
// stored in jobs and checkpoints: never renumber.
enum class IsaLevel {
  kV2 = 2,  // SSE4.2: every processor since about 2009
  kV3 = 3,  // AVX2 and FMA: since about 2013
  kV4 = 4,  // AVX-512 F, BW, CD, DQ and VL: since about 2017
};

// The highest level whose every feature this processor and its operating
// system offer. Asks CPUID each time; cheap. Thread-safe.
IsaLevel DetectIsaLevel();

// "x86-64-v2", "x86-64-v3" or "x86-64-v4".
absl::string_view IsaLevelName(IsaLevel level);

// The inverse of IsaLevelName; also takes "v2", "v3" and "v4".
// INVALID_ARGUMENT, naming `text` and the valid names, for anything else.
absl::StatusOr<IsaLevel> ParseIsaLevel(absl::string_view text);

}  // namespace selari

#endif  // SELARI_COMMON_ISA_H_
