// The table of each instruction-set level, for the run-time choice, and the
// loops it is made of.

#ifndef SELARI_KERNELS_COMPRESSION_CPU_COMPRESSION_TABLE_H_
#define SELARI_KERNELS_COMPRESSION_CPU_COMPRESSION_TABLE_H_

#include <cstdint>

#include "kernels/compression/compression_kernels.h"

namespace selari {
namespace isa_v2 {
extern const CompressionKernels kCompressionKernels;
}  // namespace isa_v2
namespace isa_v3 {
extern const CompressionKernels kCompressionKernels;
}  // namespace isa_v3
namespace isa_v4 {
extern const CompressionKernels kCompressionKernels;
}  // namespace isa_v4

#if defined(SELARI_ISA_NAMESPACE)
namespace SELARI_ISA_NAMESPACE {
bool Accumulate(std::int64_t n, const float* gradient, float* values);
void Float16Encode(std::int64_t n, float* values, std::uint16_t* codes);
void Float16Decode(std::int64_t n, const UnalignedCode16* codes, float* y);
void Bfloat16Encode(std::int64_t n, float* values, std::uint16_t* codes);
void Bfloat16Decode(std::int64_t n, const UnalignedCode16* codes, float* y);
void Int8Encode(std::int64_t n, std::int64_t block, float* values,
                float* scales, std::int8_t* codes);
void Int8Decode(std::int64_t n, std::int64_t block,
                const UnalignedFloat* scales, const std::int8_t* codes,
                float* y);
double Dot(std::int64_t n, const float* a, const float* b);
void AddScaled(std::int64_t n, float factor, const UnalignedFloat* x, float* y);
}  // namespace SELARI_ISA_NAMESPACE
#endif

}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_CPU_COMPRESSION_TABLE_H_
