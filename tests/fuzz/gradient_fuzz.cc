#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/check.h"
#include "common/isa.h"
#include "kernels/compression/choose_compression_kernels.h"
#include "kernels/compression/decode_gradient.h"
#include "kernels/compression/gradient_codec.h"
#include "tests/fuzz/fuzz_seeds.h"

namespace {

const selari::CompressionKernels& Kernels() {
  return selari::ChooseCompressionKernels(selari::IsaLevel::kV2);
}

}  // namespace

// The first byte names the encoding, the second the size of the chunk.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) {
    return 0;
  }
  std::vector<float> out(data[1]);
  const absl::Status status = selari::DecodeGradient(
      static_cast<selari::GradientEncoding>(data[0]),
      {reinterpret_cast<const char*>(data + 2), size - 2}, absl::MakeSpan(out),
      Kernels());
  SELARI_CHECK(status.ok() ||
               status.code() == absl::StatusCode::kInvalidArgument ||
               status.code() == absl::StatusCode::kUnimplemented);
  return 0;
}

std::vector<std::string> selari::FuzzSeeds() {
  std::vector<std::string> seeds = {std::string("\0\4", 2) +
                                    std::string(16, '\1')};
  for (const GradientEncoding encoding :
       {GradientEncoding::kFloat16, GradientEncoding::kBfloat16,
        GradientEncoding::kInt8Block, GradientEncoding::kTopK,
        GradientEncoding::kLowRank}) {
    for (const int64_t n : {100, 201}) {
      GradientCodecSpec spec;
      spec.encoding = encoding;
      spec.block = 64;
      spec.fraction = 0.1;
      spec.rank = 2;
      const auto codec = MakeGradientCodec(
          spec, {n, /*offset=*/5, /*columns=*/12}, &Kernels());
      std::vector<float> gradient;
      for (int64_t i = 0; i < n; ++i) {
        gradient.push_back(static_cast<float>(i * 37 % 101) - 50.0f);
      }
      std::vector<float> state(codec->state_floats());
      codec->ResetState(state.data());
      std::vector<uint32_t> words(codec->words_max());
      const auto encoded =
          codec->Encode(gradient.data(), state.data(), words.data());
      SELARI_CHECK(encoded.ok());
      seeds.push_back(
          std::string({static_cast<char>(encoding), static_cast<char>(n)}) +
          std::string(reinterpret_cast<const char*>(words.data()),
                      static_cast<size_t>(encoded->word_count) * 4));
    }
  }
  return seeds;
}
