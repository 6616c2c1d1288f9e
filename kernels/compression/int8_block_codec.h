// 8 bits for each element and a scale for each block: kInt8Block. The layout,
// and what the arguments mean, is in gradient_codec.h.

#ifndef SELARI_KERNELS_COMPRESSION_INT8_BLOCK_CODEC_H_
#define SELARI_KERNELS_COMPRESSION_INT8_BLOCK_CODEC_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/compression/gradient_codec.h"

namespace selari {

std::unique_ptr<const GradientCodec> MakeInt8BlockCodec(
    int32_t block, const ChunkShape& shape, const CompressionKernels* kernels);

// As DecodeGradient.
absl::Status DecodeInt8Block(absl::Span<const char> bytes,
                             absl::Span<float> out,
                             const CompressionKernels& kernels);

}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_INT8_BLOCK_CODEC_H_
