#include "kernels/compression/decode_gradient.h"

#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "kernels/compression/half_codec.h"
#include "kernels/compression/int8_block_codec.h"
#include "kernels/compression/low_rank_codec.h"
#include "kernels/compression/payload.h"
#include "kernels/compression/top_k_codec.h"

namespace selari {

const char* EncodingName(GradientEncoding encoding) {
  switch (encoding) {
    case GradientEncoding::kFloat32:
      return "float32";
    case GradientEncoding::kFloat16:
      return "float16";
    case GradientEncoding::kBfloat16:
      return "bfloat16";
    case GradientEncoding::kInt8Block:
      return "int8_block";
    case GradientEncoding::kTopK:
      return "top_k";
    case GradientEncoding::kLowRank:
      return "low_rank";
  }
  return "unknown";
}

absl::Status DecodeGradient(GradientEncoding encoding,
                            absl::Span<const char> bytes, absl::Span<float> out,
                            const CompressionKernels& kernels) {
  switch (encoding) {
    case GradientEncoding::kFloat32: {
      absl::Status status = CheckPayloadWords(
          "float32", bytes, static_cast<int64_t>(out.size()), out.size());
      if (status.ok() && !out.empty()) {
        std::memcpy(out.data(), bytes.data(), bytes.size());
      }
      return status;
    }
    case GradientEncoding::kFloat16:
    case GradientEncoding::kBfloat16:
      return DecodeHalf(encoding, bytes, out, kernels);
    case GradientEncoding::kInt8Block:
      return DecodeInt8Block(bytes, out, kernels);
    case GradientEncoding::kTopK:
      return DecodeTopK(bytes, out, kernels);
    case GradientEncoding::kLowRank:
      return DecodeLowRank(bytes, out, kernels);
  }
  return absl::UnimplementedError(absl::StrCat("gradient encoding ",
                                               static_cast<int32_t>(encoding),
                                               " is unknown to this program"));
}

}  // namespace selari
