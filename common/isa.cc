#include "common/isa.h"

#include <cpuid.h>

#include "common/status.h"

namespace selari {

namespace {

// __builtin_cpu_supports also checks, through XGETBV, that the operating
// system saves the wide registers. clang knows no name for the three features
// that need no register, so those bits are read from CPUID.
bool SupportsV3() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_MOVBE) == 0 ||
      (ecx & bit_F16C) == 0) {
    return false;
  }
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) == 0 ||
      (ecx & bit_LZCNT) == 0) {
    return false;
  }
  return __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma");
}

bool SupportsV4() {
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

}  // namespace

IsaLevel DetectIsaLevel() {
  __builtin_cpu_init();
  if (!SupportsV3()) {
    return IsaLevel::kV2;
  }
  return SupportsV4() ? IsaLevel::kV4 : IsaLevel::kV3;
}

absl::string_view IsaLevelName(IsaLevel level) {
  switch (level) {
    case IsaLevel::kV2:
      return "x86-64-v2";
    case IsaLevel::kV3:
      return "x86-64-v3";
    case IsaLevel::kV4:
      return "x86-64-v4";
  }
  return "unknown";
}

absl::StatusOr<IsaLevel> ParseIsaLevel(absl::string_view text) {
  for (IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
    const absl::string_view name = IsaLevelName(level);
    if (text == name || text == name.substr(name.size() - 2)) {
      return level;
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("instruction-set level \"", text,
                   "\": expected x86-64-v2, x86-64-v3 or x86-64-v4"));
}

}  // namespace selari
