#include "kernels/compression/cpu/compression_table.h"

namespace selari {
namespace SELARI_ISA_NAMESPACE {

extern const CompressionKernels kCompressionKernels = {
    Accumulate, Float16Encode, Float16Decode, Bfloat16Encode, Bfloat16Decode,
    Int8Encode, Int8Decode,    Dot,           AddScaled,
};

}  // namespace SELARI_ISA_NAMESPACE
}  // namespace selari
