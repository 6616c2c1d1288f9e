#include "kernels/peak_flops.h"

#include "common/check.h"
#include "kernels/cpu/multiply_add_loop.h"

namespace selari {

PeakFlops PeakFlopsFor(IsaLevel level) {
  SELARI_CHECK(level <= DetectIsaLevel());
  switch (level) {
    case IsaLevel::kV4:
      return {isa_v4::RunMultiplyAdds, isa_v4::MultiplyAddFlops()};
    case IsaLevel::kV3:
      return {isa_v3::RunMultiplyAdds, isa_v3::MultiplyAddFlops()};
    case IsaLevel::kV2:
      break;
  }
  return {isa_v2::RunMultiplyAdds, isa_v2::MultiplyAddFlops()};
}

}  // namespace selari
