#include "kernels/kernels.h"

#include "common/check.h"
#include "kernels/cpu/cpu_kernels.h"

namespace selari {

namespace {

#define SELARI_MAKE_KERNELS(level, isa)                         \
  Kernels {                                                     \
    level, isa::MakeGemmKernels(), isa::MakeConv2DKernels(),    \
        isa::MakeMaxPool2DKernels(), isa::MakeBiasKernels(),    \
        isa::MakeReluKernels(), isa::MakeDropoutKernels(),      \
        isa::MakeLayerNormKernels(), isa::MakeLossKernels(),    \
        isa::MakeArgmaxKernels(), isa::MakeElementaryKernels(), \
        isa::MakeTreeSumKernels()                               \
  }

}  // namespace

const Kernels& KernelsFor(IsaLevel level) {
  SELARI_CHECK(level <= DetectIsaLevel());
  switch (level) {
    case IsaLevel::kV4: {
      static const Kernels kernels = SELARI_MAKE_KERNELS(IsaLevel::kV4, isa_v4);
      return kernels;
    }
    case IsaLevel::kV3: {
      static const Kernels kernels = SELARI_MAKE_KERNELS(IsaLevel::kV3, isa_v3);
      return kernels;
    }
    case IsaLevel::kV2:
      break;
  }
  static const Kernels kernels = SELARI_MAKE_KERNELS(IsaLevel::kV2, isa_v2);
  return kernels;
}

}  // namespace selari
