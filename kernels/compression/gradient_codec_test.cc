#include "kernels/compression/gradient_codec.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/isa.h"
#include "common/random.h"
#include "gtest/gtest.h"
#include "kernels/compression/choose_compression_kernels.h"
#include "kernels/compression/decode_gradient.h"
#include "kernels/compression/reference/compression_reference.h"

namespace selari {
namespace {

constexpr uint64_t kSeed = 20261202;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const CompressionKernels& Plain() {
  return ChooseCompressionKernels(IsaLevel::kV2);
}

std::vector<float> Normal(uint64_t which, int64_t n, float deviation) {
  std::vector<float> values(n);
  FillNormal(MakeRandomKey(kSeed, RandomStream::kTest, which), 0, 0.0f,
             deviation, absl::MakeSpan(values));
  return values;
}

std::vector<GradientCodecSpec> AllSpecs() {
  return {{GradientEncoding::kFloat16},
          {GradientEncoding::kBfloat16},
          {GradientEncoding::kInt8Block, /*block=*/64},
          {GradientEncoding::kTopK, 0, /*fraction=*/0.05},
          {GradientEncoding::kLowRank, 0, 0, /*rank=*/2}};
}

// Cut like a chunk from the middle of a tensor, so that low rank meets a first
// and a last row that are not whole.
constexpr ChunkShape kShape = {/*count=*/1501, /*offset=*/67, /*columns=*/50};

// One end of the wire and the other.
class Channel {
 public:
  explicit Channel(const GradientCodecSpec& spec,
                   const ChunkShape& shape = kShape,
                   IsaLevel level = IsaLevel::kV2)
      : kernels_(ChooseCompressionKernels(level)),
        codec_(MakeGradientCodec(spec, shape, &kernels_)) {
    state.assign(codec_->state_floats(), std::nanf(""));
    codec_->ResetState(state.data());
  }

  absl::Status Encode(const std::vector<float>& gradient,
                      bool exactly = false) {
    // Any rest of an earlier use must be overwritten.
    words.assign(codec_->words_max(), 0xa5a5a5a5u);
    auto encoded =
        exactly
            ? codec_->EncodeExactly(gradient.data(), state.data(), words.data())
            : codec_->Encode(gradient.data(), state.data(), words.data());
    if (!encoded.ok()) {
      return encoded.status();
    }
    encoding = encoded->encoding;
    words.resize(encoded->word_count);
    return absl::OkStatus();
  }

  // From an odd address.
  std::vector<float> Decode() const {
    std::string bytes(1 + words.size() * 4, '\0');
    std::memcpy(&bytes[1], words.data(), words.size() * 4);
    std::vector<float> out(codec_->count(), std::nanf(""));
    const absl::Status status =
        DecodeGradient(encoding, absl::MakeConstSpan(bytes).subspan(1),
                       absl::MakeSpan(out), kernels_);
    EXPECT_TRUE(status.ok()) << status;
    return out;
  }

  std::vector<float> state;
  std::vector<uint32_t> words;
  GradientEncoding encoding = GradientEncoding::kFloat32;

 private:
  const CompressionKernels& kernels_;
  const std::unique_ptr<const GradientCodec> codec_;
};

double LargestDifference(const std::vector<float>& a,
                         const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::fabs(a[i] - b[i]));
  }
  return largest;
}

TEST(GradientCodecTest, WhatIsNotSentIsTheResidual) {
  for (const GradientCodecSpec& spec : AllSpecs()) {
    Channel channel(spec);
    std::vector<double> wanted(kShape.count, 0.0);
    std::vector<double> received(kShape.count, 0.0);
    for (int step = 0; step < 20; ++step) {
      const std::vector<float> gradient = Normal(step, kShape.count, 1e-3f);
      ASSERT_TRUE(channel.Encode(gradient).ok());
      EXPECT_EQ(channel.encoding, spec.encoding);
      const std::vector<float> decoded = channel.Decode();
      for (int64_t i = 0; i < kShape.count; ++i) {
        wanted[i] += gradient[i];
        received[i] += decoded[i];
      }
    }
    // Sum of gradients = sum of what came + residual, but for roundings.
    for (int64_t i = 0; i < kShape.count; ++i) {
      received[i] += channel.state[i];
      ASSERT_NEAR(received[i], wanted[i], 1e-7)
          << EncodingName(spec.encoding) << " element " << i;
    }
  }
}

TEST(GradientCodecTest, SavesWhatItPromises) {
  const std::vector<float> gradient = Normal(1, kShape.count, 1.0f);
  const int64_t words[] = {
      751,                // 1501 halves
      751,                //
      1 + 24 + 376,       // 24 blocks of 64
      1 + 76 + 19,        // 76 values, a byte each for the indices
      3 + 2 * (31 + 50),  // 2 rows of P and Q
  };
  for (size_t i = 0; i < AllSpecs().size(); ++i) {
    Channel channel(AllSpecs()[i]);
    ASSERT_TRUE(channel.Encode(gradient).ok());
    EXPECT_EQ(static_cast<int64_t>(channel.words.size()), words[i]);
  }
}

TEST(GradientCodecTest, SameBytesAndStateAtEachLevel) {
  for (const GradientCodecSpec& spec : AllSpecs()) {
    for (const IsaLevel level : {IsaLevel::kV3, IsaLevel::kV4}) {
      if (level > DetectIsaLevel()) {
        continue;
      }
      Channel plain(spec);
      Channel fast(spec, kShape, level);
      for (int step = 0; step < 3; ++step) {
        const std::vector<float> gradient = Normal(step, kShape.count, 0.1f);
        ASSERT_TRUE(plain.Encode(gradient).ok());
        ASSERT_TRUE(fast.Encode(gradient).ok());
        EXPECT_EQ(plain.words, fast.words) << EncodingName(spec.encoding);
        EXPECT_EQ(plain.state, fast.state) << EncodingName(spec.encoding);
        EXPECT_EQ(plain.Decode(), fast.Decode());
      }
    }
  }
}

TEST(GradientCodecTest, NoCodecHidesWhatIsNotFinite) {
  for (const GradientCodecSpec& spec : AllSpecs()) {
    for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
      for (const bool exactly : {false, true}) {
        Channel channel(spec);
        std::vector<float> gradient = Normal(1, kShape.count, 1.0f);
        gradient[1203] = bad;
        const absl::Status status = channel.Encode(gradient, exactly);
        EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
        EXPECT_NE(status.message().find("element 1203 of the chunk is"),
                  std::string::npos)
            << status;
      }
    }
  }
}

TEST(GradientCodecTest, LargeFiniteValuesStayFiniteAndAreNotLost) {
  for (const GradientCodecSpec& spec : AllSpecs()) {
    Channel channel(spec);
    std::vector<float> gradient(kShape.count, 3e38f);
    std::vector<double> received(kShape.count, 0.0);
    for (int step = 0; step < 3; ++step) {
      ASSERT_TRUE(channel.Encode(gradient).ok()) << EncodingName(spec.encoding);
      gradient.assign(kShape.count, 0.0f);
      const std::vector<float> decoded = channel.Decode();
      for (int64_t i = 0; i < kShape.count; ++i) {
        ASSERT_TRUE(std::isfinite(decoded[i])) << EncodingName(spec.encoding);
        ASSERT_TRUE(std::isfinite(channel.state[i]));
        received[i] += decoded[i];
      }
    }
    for (int64_t i = 0; i < kShape.count; ++i) {
      ASSERT_NEAR(received[i] + channel.state[i], 3e38, 1e33);
    }
  }
}

TEST(GradientCodecTest, EncodingExactlySendsTheResidualAndForgetsIt) {
  for (const GradientCodecSpec& spec : AllSpecs()) {
    Channel channel(spec);
    const std::vector<float> fresh = channel.state;
    ASSERT_TRUE(channel.Encode(Normal(1, kShape.count, 1.0f)).ok());
    const std::vector<float> residual = channel.state;
    const std::vector<float> gradient = Normal(2, kShape.count, 1.0f);
    ASSERT_TRUE(channel.Encode(gradient, /*exactly=*/true).ok());
    EXPECT_EQ(channel.encoding, GradientEncoding::kFloat32);
    const std::vector<float> decoded = channel.Decode();
    for (int64_t i = 0; i < kShape.count; ++i) {
      ASSERT_EQ(decoded[i], residual[i] + gradient[i]);
    }
    EXPECT_EQ(channel.state, fresh);
  }
}

TEST(GradientCodecTest, NullWhereNothingIsSaved) {
  EXPECT_EQ(MakeGradientCodec({}, kShape, &Plain()), nullptr);
  for (const GradientCodecSpec& spec : AllSpecs()) {
    EXPECT_EQ(MakeGradientCodec(spec, {1, 0, 1}, &Plain()), nullptr)
        << EncodingName(spec.encoding);
  }
  GradientCodecSpec low_rank;
  low_rank.encoding = GradientEncoding::kLowRank;
  EXPECT_EQ(MakeGradientCodec(low_rank, {1000, 0, 1}, &Plain()), nullptr);
  GradientCodecSpec all;
  all.encoding = GradientEncoding::kTopK;
  all.fraction = 1.0;
  EXPECT_EQ(MakeGradientCodec(all, kShape, &Plain()), nullptr);
}

TEST(TopKCodecTest, SendsTheLargestAndOfEqualsTheFirst) {
  for (const int64_t n : {40, 160, 1000}) {
    for (int round = 0; round < 8; ++round) {
      std::vector<float> gradient = Normal(round, n, 1.0f);
      if (round % 2 == 0) {
        // Few different values: many ties, and zeros.
        for (float& value : gradient) {
          value = std::nearbyint(value * static_cast<float>(round) / 4);
        }
      }
      Channel channel({GradientEncoding::kTopK, 0, /*fraction=*/0.1},
                      {n, 0, 1});
      ASSERT_TRUE(channel.Encode(gradient).ok());
      std::vector<float> want(n, 0.0f);
      for (const int64_t i : reference::LargestElements(gradient, n / 10)) {
        want[i] = gradient[i];
      }
      EXPECT_EQ(channel.Decode(), want);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(channel.state[i], want[i] != 0 ? 0.0f : gradient[i]);
      }
    }
  }
}

TEST(TopKCodecTest, BytesAreThoseOfTheLayout) {
  std::vector<float> gradient(400, 0.0f);
  gradient[3] = 1.0f;
  gradient[4] = -2.0f;
  gradient[395] = 0.5f;
  Channel channel({GradientEncoding::kTopK, 0, /*fraction=*/0.01}, {400, 0, 1});
  ASSERT_TRUE(channel.Encode(gradient).ok());
  // Deltas 3, 0 and 390 = 6 + 3 * 128.
  EXPECT_EQ(channel.words, (std::vector<uint32_t>{3, 0x3f800000, 0xc0000000,
                                                  0x3f000000, 0x03860003}));
}

TEST(HalfCodecTest, BytesAreThoseOfTheLayout) {
  Channel half({GradientEncoding::kFloat16}, {3, 0, 1});
  ASSERT_TRUE(half.Encode({1.0f, -2.0f, 0.5f}).ok());
  EXPECT_EQ(half.words, (std::vector<uint32_t>{0xc0003c00, 0x00003800}));
  Channel brain({GradientEncoding::kBfloat16}, {3, 0, 1});
  ASSERT_TRUE(brain.Encode({1.0f, -2.0f, 0.5f}).ok());
  EXPECT_EQ(brain.words, (std::vector<uint32_t>{0xc0003f80, 0x00003f00}));
}

TEST(Int8BlockCodecTest, BytesAreThoseOfTheLayout) {
  Channel channel({GradientEncoding::kInt8Block, /*block=*/64}, {66, 0, 1});
  std::vector<float> gradient(66, 0.0f);
  gradient[0] = 127.0f;
  gradient[1] = -3.0f;
  gradient[64] = 254.0f;
  gradient[65] = -254.0f;
  ASSERT_TRUE(channel.Encode(gradient).ok());
  ASSERT_EQ(channel.words.size(), 1u + 2 + 17);
  EXPECT_EQ(channel.words[0], 64u);
  EXPECT_EQ(channel.words[1], 0x3f800000u);  // 1
  EXPECT_EQ(channel.words[2], 0x40000000u);  // 2
  EXPECT_EQ(channel.words[3], 0x0000fd7fu);
  EXPECT_EQ(channel.words[19], 0x0000817fu);
}

// rows x columns of rank 1.
std::vector<float> OuterProduct(int64_t rows, int64_t columns, float size) {
  const std::vector<float> a = Normal(1, rows, size);
  const std::vector<float> b = Normal(2, columns, 1.0f);
  std::vector<float> matrix;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      matrix.push_back(a[i] * b[j]);
    }
  }
  return matrix;
}

TEST(LowRankCodecTest, KeepsAMatrixOfLowRank) {
  // Rank 4 is more than it has: what is left over must not count twice.
  for (const int32_t rank : {1, 2, 4}) {
    for (const float size : {1.0f, 1e-20f}) {
      Channel channel({GradientEncoding::kLowRank, 0, 0, rank}, {4000, 0, 50});
      const std::vector<float> matrix = OuterProduct(80, 50, size);
      for (int step = 0; step < 3; ++step) {
        ASSERT_TRUE(channel.Encode(matrix).ok());
        const std::vector<double> want(matrix.begin(), matrix.end());
        EXPECT_LT(LargestDifference(channel.Decode(), want), 2e-5 * size)
            << rank;
      }
    }
  }
}

TEST(LowRankCodecTest, StepsFromTheLastOnesDirectionsComeNearer) {
  // The same gradient again and again: error feedback sends all of it in the
  // end, and the largest directions soon.
  Channel channel({GradientEncoding::kLowRank, 0, 0, 2});
  const std::vector<float> gradient = Normal(1, kShape.count, 1.0f);
  std::vector<double> received(kShape.count, 0.0);
  constexpr int kSteps = 200;
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(channel.Encode(gradient).ok());
    const std::vector<float> decoded = channel.Decode();
    for (int64_t i = 0; i < kShape.count; ++i) {
      received[i] += decoded[i] / kSteps;
    }
  }
  // After kSteps the mean is off by residual / kSteps; the residual holds some
  // rounds of 15 gradients (30 directions, 2 a step).
  EXPECT_LT(LargestDifference(gradient, received), 0.5);
}

TEST(LowRankCodecTest, ZerosAreSentAsZerosAndForgotten) {
  Channel channel({GradientEncoding::kLowRank, 0, 0, 2});
  const std::vector<float> fresh = channel.state;
  const std::vector<float> zeros(kShape.count, 0.0f);
  ASSERT_TRUE(channel.Encode(zeros).ok());
  EXPECT_EQ(channel.Decode(), zeros);
  EXPECT_EQ(channel.state, fresh);
}

struct BadPayload {
  GradientEncoding encoding;
  std::vector<uint32_t> words;
  const char* message;
};

TEST(DecodeGradientTest, RefusesWhatDoesNotFit) {
  const uint32_t one = 0x3f800000;
  const BadPayload cases[] = {
      {GradientEncoding::kFloat32, {1, 2, 3}, "float32: 12 bytes, must be 16"},
      {GradientEncoding::kFloat16, {1}, "float16: 4 bytes, must be 8"},
      {GradientEncoding::kBfloat16, {1, 2, 3}, "bfloat16: 12 bytes"},
      {GradientEncoding::kInt8Block, {}, "int8_block: 0 bytes, the header"},
      {GradientEncoding::kInt8Block, {0, one, 0}, "blocks of 0 elements"},
      {GradientEncoding::kInt8Block, {63, one, 0}, "blocks of 63 elements"},
      {GradientEncoding::kInt8Block, {1u << 31, one, 0}, "blocks of 21474836"},
      {GradientEncoding::kInt8Block, {64, one}, "8 bytes, must be 12"},
      {GradientEncoding::kInt8Block,
       {64, 0x7f800000, 0},
       "block 0 of 1 is inf"},
      {GradientEncoding::kInt8Block, {64, 0xbf800000, 0}, "block 0 of 1 is -1"},
      {GradientEncoding::kTopK, {}, "top_k: 0 bytes"},
      {GradientEncoding::kTopK, {5, 0, 0, 0, 0, 0, 0, 0}, "5 elements of 4"},
      {GradientEncoding::kTopK, {0xffffffff}, "top_k: 4294967295 elements"},
      {GradientEncoding::kTopK, {2, one}, "top_k: 8 bytes, the header alone"},
      {GradientEncoding::kTopK, {1, one}, "index 0 of 1 is cut off"},
      {GradientEncoding::kTopK, {1, one, 0x00000080}, "badly written"},
      {GradientEncoding::kTopK, {1, one, 4}, "index 0 of 1 is 4"},
      {GradientEncoding::kTopK, {2, one, one, 0x0003}, "index 1 of 2 is 4"},
      {GradientEncoding::kTopK, {1, one, 0x0101}, "more than 1 elements have"},
      {GradientEncoding::kTopK, {1, one, 1, 0}, "more than 1 elements have"},
      {GradientEncoding::kLowRank, {1, 2}, "low_rank: 8 bytes"},
      {GradientEncoding::kLowRank, {0, 2, 0, 0, 0, 0, 0}, "rank 0, 2 columns"},
      {GradientEncoding::kLowRank, {65, 2, 0, 0, 0, 0, 0}, "rank 65"},
      {GradientEncoding::kLowRank, {1, 0, 0, 0, 0, 0, 0}, "0 columns"},
      {GradientEncoding::kLowRank, {1, 2, 2, 0, 0, 0, 0}, "the first one 2"},
      {GradientEncoding::kLowRank, {1, 2, 0, 0, 0, 0}, "24 bytes, must be 28"},
      {GradientEncoding::kLowRank,
       {64, 0xffffffff, 0, 0},
       "must be 1099511627788"},
  };
  for (const BadPayload& c : cases) {
    std::vector<float> out(4);
    const absl::Status status = DecodeGradient(
        c.encoding,
        {reinterpret_cast<const char*>(c.words.data()), c.words.size() * 4},
        absl::MakeSpan(out), Plain());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << c.message;
    EXPECT_NE(status.message().find(c.message), std::string::npos) << status;
  }
}

TEST(DecodeGradientTest, AnEncodingOfTheFutureIsUnimplemented) {
  std::vector<float> out(4);
  EXPECT_EQ(DecodeGradient(static_cast<GradientEncoding>(99), {},
                           absl::MakeSpan(out), Plain())
                .code(),
            absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace selari
