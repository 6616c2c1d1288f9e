#include "kernels/compression/half_codec.h"

#include <algorithm>

#include "common/status.h"
#include "kernels/compression/payload.h"

namespace selari {
namespace {

// Both passes over a block find it in the first-level cache.
constexpr int64_t kBlockFloats = 2048;

class HalfCodec final : public GradientCodec {
 public:
  HalfCodec(GradientEncoding encoding, int64_t count,
            const CompressionKernels* kernels)
      : GradientCodec(count), encoding_(encoding), kernels_(kernels) {}

  absl::StatusOr<EncodedGradient> Encode(const float* gradient, float* state,
                                         uint32_t* words) const override {
    const auto encode = encoding_ == GradientEncoding::kFloat16
                            ? kernels_->float16_encode
                            : kernels_->bfloat16_encode;
    auto* codes = reinterpret_cast<uint16_t*>(words);
    for (int64_t begin = 0; begin < count(); begin += kBlockFloats) {
      const int64_t n = std::min(kBlockFloats, count() - begin);
      if (!kernels_->accumulate(n, gradient + begin, state + begin)) {
        return NotFinite(state);
      }
      encode(n, state + begin, codes + begin);
    }
    if (count() % 2 != 0) {
      codes[count()] = 0;
    }
    return EncodedGradient{encoding_, WordsOfBytes(2 * count())};
  }

 private:
  const GradientEncoding encoding_;
  const CompressionKernels* const kernels_;
};

}  // namespace

std::unique_ptr<const GradientCodec> MakeHalfCodec(
    GradientEncoding encoding, const ChunkShape& shape,
    const CompressionKernels* kernels) {
  if (shape.count == 1) {
    return nullptr;
  }
  return std::make_unique<HalfCodec>(encoding, shape.count, kernels);
}

absl::Status DecodeHalf(GradientEncoding encoding, absl::Span<const char> bytes,
                        absl::Span<float> out,
                        const CompressionKernels& kernels) {
  const bool float16 = encoding == GradientEncoding::kFloat16;
  const auto n = static_cast<int64_t>(out.size());
  SELARI_RETURN_IF_ERROR(CheckPayloadWords(float16 ? "float16" : "bfloat16",
                                           bytes, WordsOfBytes(2 * n),
                                           out.size()));
  const auto decode =
      float16 ? kernels.float16_decode : kernels.bfloat16_decode;
  decode(n, reinterpret_cast<const UnalignedCode16*>(bytes.data()), out.data());
  return absl::OkStatus();
}

}  // namespace selari
