#include "kernels/compression/choose_compression_kernels.h"

#include "common/check.h"
#include "kernels/compression/cpu/compression_table.h"

namespace selari {

const CompressionKernels& ChooseCompressionKernels(IsaLevel level) {
  SELARI_CHECK(level <= DetectIsaLevel());
  switch (level) {
    case IsaLevel::kV4:
      return isa_v4::kCompressionKernels;
    case IsaLevel::kV3:
      return isa_v3::kCompressionKernels;
    case IsaLevel::kV2:
      break;
  }
  return isa_v2::kCompressionKernels;
}

}  // namespace selari
