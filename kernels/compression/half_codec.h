// 16 bits for each element: kFloat16 and kBfloat16. The layout, and what the
// arguments mean, is in gradient_codec.h.

#ifndef SELARI_KERNELS_COMPRESSION_HALF_CODEC_H_
#define SELARI_KERNELS_COMPRESSION_HALF_CODEC_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "kernels/compression/gradient_codec.h"

namespace selari {

std::unique_ptr<const GradientCodec> MakeHalfCodec(
    GradientEncoding encoding, const ChunkShape& shape,
    const CompressionKernels* kernels);

// As DecodeGradient.
absl::Status DecodeHalf(GradientEncoding encoding, absl::Span<const char> bytes,
                        absl::Span<float> out,
                        const CompressionKernels& kernels);

}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_HALF_CODEC_H_
