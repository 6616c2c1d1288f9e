// The other end of gradient_codec.h, which has the layouts: bytes from anybody
// to floats.
//
// Thread safety: pure functions.

#ifndef SELARI_KERNELS_COMPRESSION_DECODE_GRADIENT_H_
#define SELARI_KERNELS_COMPRESSION_DECODE_GRADIENT_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/gradient_encoding.h"
#include "kernels/compression/compression_kernels.h"

namespace selari {

// For messages: "float16", "int8_block".
const char* EncodingName(GradientEncoding encoding);

// Overwrites all of `out` (the chunk's elements). `bytes` may lie at any
// address. INVALID_ARGUMENT names the codec and the numbers that do not fit;
// UNIMPLEMENTED for an encoding that this program does not know. The result may
// hold infinities and NaN: check it. Time is bounded by out.size() and
// bytes.size(), at most kLowRankMax operations an element; nothing is
// allocated.
absl::Status DecodeGradient(GradientEncoding encoding,
                            absl::Span<const char> bytes, absl::Span<float> out,
                            const CompressionKernels& kernels);

}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_DECODE_GRADIENT_H_
