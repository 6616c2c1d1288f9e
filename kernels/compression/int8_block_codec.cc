#include "kernels/compression/int8_block_codec.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "kernels/compression/payload.h"

namespace selari {
namespace {

constexpr int64_t kBlockStep = 64;
constexpr int64_t kBlockMax = 256;

// For n elements; at least one word after the header.
struct Layout {
  Layout(int64_t n, int64_t block_size)
      : block(block_size),
        scales((n + block - 1) / block),
        words(1 + scales + WordsOfBytes(n)) {}

  const int64_t block;
  const int64_t scales;
  const int64_t words;
};

class Int8BlockCodec final : public GradientCodec {
 public:
  Int8BlockCodec(const Layout& layout, int64_t count,
                 const CompressionKernels* kernels)
      : GradientCodec(count), layout_(layout), kernels_(kernels) {}

  absl::StatusOr<EncodedGradient> Encode(const float* gradient, float* state,
                                         uint32_t* words) const override {
    // Some blocks at a time, so that both passes find them in cache.
    const int64_t step = layout_.block * 8;
    words[0] = static_cast<uint32_t>(layout_.block);
    words[layout_.words - 1] = 0;
    auto* codes = reinterpret_cast<int8_t*>(words + 1 + layout_.scales);
    for (int64_t begin = 0; begin < count(); begin += step) {
      const int64_t n = count() - begin < step ? count() - begin : step;
      if (!kernels_->accumulate(n, gradient + begin, state + begin)) {
        return NotFinite(state);
      }
      float scales[8];
      kernels_->int8_encode(n, layout_.block, state + begin, scales,
                            codes + begin);
      std::memcpy(words + 1 + begin / layout_.block, scales,
                  static_cast<size_t>((n + layout_.block - 1) / layout_.block) *
                      sizeof(float));
    }
    return EncodedGradient{GradientEncoding::kInt8Block, layout_.words};
  }

 private:
  const Layout layout_;
  const CompressionKernels* const kernels_;
};

}  // namespace

std::unique_ptr<const GradientCodec> MakeInt8BlockCodec(
    int32_t block, const ChunkShape& shape, const CompressionKernels* kernels) {
  const Layout layout(shape.count, block);
  if (layout.words >= shape.count) {
    return nullptr;
  }
  return std::make_unique<Int8BlockCodec>(layout, shape.count, kernels);
}

absl::Status DecodeInt8Block(absl::Span<const char> bytes,
                             absl::Span<float> out,
                             const CompressionKernels& kernels) {
  SELARI_RETURN_IF_ERROR(CheckPayloadHeader("int8_block", bytes, 1));
  const int64_t block = PayloadWord(bytes, 0);
  if (block == 0 || block > kBlockMax || block % kBlockStep != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "int8_block: blocks of ", block, " elements, must be a multiple of ",
        kBlockStep, " in [", kBlockStep, ", ", kBlockMax, "]"));
  }
  const auto n = static_cast<int64_t>(out.size());
  const Layout layout(n, block);
  SELARI_RETURN_IF_ERROR(
      CheckPayloadWords("int8_block", bytes, layout.words, out.size()));
  // Not auto, which would forget that they may lie at any address.
  const UnalignedFloat* const scales =
      reinterpret_cast<const UnalignedFloat*>(bytes.data() + 4);
  for (int64_t i = 0; i < layout.scales; ++i) {
    const float scale = scales[i];
    if (!(std::isfinite(scale) && scale >= 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "int8_block: the scale of block ", i, " of ", layout.scales, " is ",
          scale, ", must be finite and not negative"));
    }
  }
  kernels.int8_decode(
      n, block, scales,
      reinterpret_cast<const int8_t*>(bytes.data() + 4 + 4 * layout.scales),
      out.data());
  return absl::OkStatus();
}

}  // namespace selari
