#include "kernels/optimizer/choose_optimizer_kernels.h"

#include "common/check.h"
#include "kernels/optimizer/cpu/kernel_table.h"

namespace selari {

const OptimizerKernels& ChooseOptimizerKernels(IsaLevel level) {
  SELARI_CHECK(level <= DetectIsaLevel());
  switch (level) {
    case IsaLevel::kV4:
      return isa_v4::kOptimizerKernels;
    case IsaLevel::kV3:
      return isa_v3::kOptimizerKernels;
    case IsaLevel::kV2:
      break;
  }
  return isa_v2::kOptimizerKernels;
}

}  // namespace selari
