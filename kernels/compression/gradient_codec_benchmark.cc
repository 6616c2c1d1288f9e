// Encoding and decoding in bytes of gradient a second, beside memcpy in the
// same run: what memory allows. One chunk (256 KiB) again and again is in
// cache; 128 of them (32 MiB), one after the other, are not.
//
//   bazel run //kernels/compression:gradient_codec_benchmark --
//       --benchmark_min_time=0.1 --benchmark_repetitions=5

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmark/benchmark.h"
#include "common/isa.h"
#include "common/random.h"
#include "kernels/compression/choose_compression_kernels.h"
#include "kernels/compression/decode_gradient.h"
#include "kernels/compression/gradient_codec.h"

namespace selari {
namespace {

constexpr int64_t kChunkFloats = 65536;
constexpr ChunkShape kShape = {kChunkFloats, /*offset=*/0, /*columns=*/512};

// Chunks of normal numbers, their states and their payloads.
struct Chunks {
  Chunks(int64_t count, int64_t state_floats, int64_t words_max)
      : gradient(count * kChunkFloats),
        state(count * state_floats),
        words(count * words_max) {
    FillNormal(MakeRandomKey(1, RandomStream::kTest), 0, 0.0f, 1e-3f,
               absl::MakeSpan(gradient).subspan(0, kChunkFloats));
    for (int64_t i = 1; i < count; ++i) {
      std::memcpy(gradient.data() + i * kChunkFloats, gradient.data(),
                  kChunkFloats * sizeof(float));
    }
  }

  std::vector<float> gradient;
  std::vector<float> state;
  std::vector<uint32_t> words;
};

void SetBytes(benchmark::State& state) {
  state.SetBytesProcessed(state.iterations() * kChunkFloats *
                          int64_t{sizeof(float)});
}

void BM_Memcpy(benchmark::State& state) {
  Chunks chunks(state.range(0), kChunkFloats, 1);
  int64_t i = 0;
  for (auto _ : state) {
    std::memcpy(chunks.state.data() + i * kChunkFloats,
                chunks.gradient.data() + i * kChunkFloats,
                kChunkFloats * sizeof(float));
    benchmark::ClobberMemory();
    i = (i + 1) % state.range(0);
  }
  SetBytes(state);
}

void BM_Encode(benchmark::State& state, GradientCodecSpec spec,
               IsaLevel level) {
  const auto codec =
      MakeGradientCodec(spec, kShape, &ChooseCompressionKernels(level));
  Chunks chunks(state.range(0), codec->state_floats(), codec->words_max());
  for (int64_t i = 0; i < state.range(0); ++i) {
    codec->ResetState(chunks.state.data() + i * codec->state_floats());
  }
  int64_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        codec->Encode(chunks.gradient.data() + i * kChunkFloats,
                      chunks.state.data() + i * codec->state_floats(),
                      chunks.words.data() + i * codec->words_max()));
    i = (i + 1) % state.range(0);
  }
  SetBytes(state);
}

void BM_Decode(benchmark::State& state, GradientCodecSpec spec,
               IsaLevel level) {
  const CompressionKernels& kernels = ChooseCompressionKernels(level);
  const auto codec = MakeGradientCodec(spec, kShape, &kernels);
  Chunks chunks(state.range(0), codec->state_floats(), codec->words_max());
  int64_t bytes = 0;
  for (int64_t i = 0; i < state.range(0); ++i) {
    float* const chunk_state = chunks.state.data() + i * codec->state_floats();
    codec->ResetState(chunk_state);
    bytes =
        4 * codec
                ->Encode(chunks.gradient.data() + i * kChunkFloats, chunk_state,
                         chunks.words.data() + i * codec->words_max())
                ->word_count;
  }
  int64_t i = 0;
  for (auto _ : state) {
    const uint32_t* const words = chunks.words.data() + i * codec->words_max();
    benchmark::DoNotOptimize(DecodeGradient(
        spec.encoding,
        {reinterpret_cast<const char*>(words), static_cast<size_t>(bytes)},
        absl::MakeSpan(chunks.gradient.data() + i * kChunkFloats, kChunkFloats),
        kernels));
    i = (i + 1) % state.range(0);
  }
  SetBytes(state);
}

void RegisterAll() {
  const GradientCodecSpec specs[] = {
      {GradientEncoding::kFloat16},
      {GradientEncoding::kBfloat16},
      {GradientEncoding::kInt8Block, kInt8BlockDefault},
      {GradientEncoding::kTopK, 0, /*fraction=*/0.01},
      {GradientEncoding::kLowRank, 0, 0, /*rank=*/4}};
  benchmark::RegisterBenchmark("memcpy", BM_Memcpy)->Arg(1)->Arg(128);
  for (const GradientCodecSpec& spec : specs) {
    for (const IsaLevel level : {IsaLevel::kV2, IsaLevel::kV3, IsaLevel::kV4}) {
      if (level > DetectIsaLevel()) {
        continue;
      }
      const std::string name = std::string(EncodingName(spec.encoding)) + "/v" +
                               std::to_string(static_cast<int>(level));
      benchmark::RegisterBenchmark((name + "/encode").c_str(), BM_Encode, spec,
                                   level)
          ->Arg(1)
          ->Arg(128);
      benchmark::RegisterBenchmark((name + "/decode").c_str(), BM_Decode, spec,
                                   level)
          ->Arg(1)
          ->Arg(128);
    }
  }
}

}  // namespace
}  // namespace selari

int main(int argc, char** argv) {
  selari::RegisterAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
