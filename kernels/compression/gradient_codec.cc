#include "kernels/compression/gradient_codec.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "kernels/compression/half_codec.h"
#include "kernels/compression/int8_block_codec.h"
#include "kernels/compression/low_rank_codec.h"
#include "kernels/compression/top_k_codec.h"

namespace selari {

void GradientCodec::ResetState(float* state) const {
  std::memset(state, 0, static_cast<size_t>(count_) * sizeof(float));
}

absl::StatusOr<EncodedGradient> GradientCodec::EncodeExactly(
    const float* gradient, float* state, uint32_t* words) const {
  for (int64_t i = 0; i < count_; ++i) {
    const float value = state[i] + gradient[i];
    if (!std::isfinite(value)) {
      state[i] = value;
      return NotFinite(state);
    }
    std::memcpy(words + i, &value, sizeof(value));
  }
  ResetState(state);
  return EncodedGradient{GradientEncoding::kFloat32, count_};
}

absl::Status GradientCodec::NotFinite(const float* values) const {
  int64_t i = 0;
  while (i + 1 < count_ && std::isfinite(values[i])) {
    ++i;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("element ", i, " of the chunk is ", values[i]));
}

std::unique_ptr<const GradientCodec> MakeGradientCodec(
    const GradientCodecSpec& spec, const ChunkShape& shape,
    const CompressionKernels* kernels) {
  SELARI_CHECK(shape.count > 0);
  switch (spec.encoding) {
    case GradientEncoding::kFloat32:
      return nullptr;
    case GradientEncoding::kFloat16:
    case GradientEncoding::kBfloat16:
      return MakeHalfCodec(spec.encoding, shape, kernels);
    case GradientEncoding::kInt8Block:
      return MakeInt8BlockCodec(spec.block, shape, kernels);
    case GradientEncoding::kTopK:
      return MakeTopKCodec(spec.fraction, shape, kernels);
    case GradientEncoding::kLowRank:
      return MakeLowRankCodec(spec.rank, shape, kernels);
  }
  return nullptr;
}

}  // namespace selari
