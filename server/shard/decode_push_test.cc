#include "server/shard/decode_push.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/shard_message.h"
#include "gtest/gtest.h"
#include "kernels/compression/choose_compression_kernels.h"
#include "kernels/compression/gradient_codec.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

constexpr int64_t kCount = 200;

std::shared_ptr<const ShardJob> MakeJob() {
  v1::ResolvedJob resolved = MakeTestJob({{"dense1/kernel", kCount}});
  resolved.mutable_job()->mutable_cluster()->set_shard_count(1);
  return CreateJobOrDie(resolved);
}

// Words as the floats that they travel as.
std::vector<float> AsFloats(const std::vector<uint32_t>& words) {
  std::vector<float> floats(words.size());
  std::memcpy(floats.data(), words.data(), words.size() * sizeof(float));
  return floats;
}

ChunkPush Encoded(GradientEncoding encoding,
                  const std::vector<uint32_t>& words) {
  ChunkPush push;
  push.gradient = MakeSlice(AsFloats(words));
  push.encoding = encoding;
  return push;
}

TEST(DecodePushTest, LeavesPlainFloatsAlone) {
  const auto job = MakeJob();
  ChunkPush push = Encoded(GradientEncoding::kFloat32, {1, 2, 3});
  const float* const before = push.gradient.data();
  EXPECT_FALSE(DecodePush(*job, &push).has_value());
  EXPECT_EQ(push.gradient.data(), before);
}

TEST(DecodePushTest, DecodesFromOnePieceAndFromMany) {
  const auto job = MakeJob();
  const CompressionKernels& kernels = ChooseCompressionKernels(IsaLevel::kV2);
  for (const GradientEncoding encoding :
       {GradientEncoding::kFloat16, GradientEncoding::kBfloat16,
        GradientEncoding::kInt8Block, GradientEncoding::kTopK,
        GradientEncoding::kLowRank}) {
    GradientCodecSpec spec;
    spec.encoding = encoding;
    spec.fraction = 0.1;
    spec.rank = 1;
    const auto codec = MakeGradientCodec(spec, {kCount, 0, 20}, &kernels);
    std::vector<float> gradient(kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      gradient[i] = static_cast<float>(i % 7) - 3;
    }
    std::vector<float> state(codec->state_floats());
    codec->ResetState(state.data());
    std::vector<uint32_t> words(codec->words_max());
    const auto encoded =
        codec->Encode(gradient.data(), state.data(), words.data());
    ASSERT_TRUE(encoded.ok());
    words.resize(encoded->word_count);

    ChunkPush whole = Encoded(encoding, words);
    ChunkPush pieces = whole;
    pieces.gradient = MakeWireSlice(AsFloats(words), /*piece_bytes=*/5, 3);
    ASSERT_FALSE(DecodePush(*job, &whole).has_value());
    ASSERT_FALSE(DecodePush(*job, &pieces).has_value());

    const std::vector<float> decoded = Values(whole.gradient);
    EXPECT_EQ(whole.encoding, GradientEncoding::kFloat32);
    EXPECT_EQ(decoded, Values(pieces.gradient));
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_NEAR(decoded[i] + state[i], gradient[i], 1e-5) << i;
    }
  }
}

TEST(DecodePushTest, RefusesByCodecAndNumbers) {
  const auto job = MakeJob();
  ChunkPush push = Encoded(GradientEncoding::kFloat16, {1, 2, 3});
  const std::optional<Refusal> refusal = DecodePush(*job, &push);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->reason, ErrorReason::kShapeMismatch);
  EXPECT_EQ(refusal->status,
            absl::InvalidArgumentError(
                "push for tensor \"dense1/kernel\" chunk 0: float16: 12 bytes, "
                "must be 400 for 200 elements"));
}

TEST(DecodePushTest, RefusesWhatIsFarTooLongBeforeCopyingIt) {
  const auto job = MakeJob();
  ChunkPush push =
      Encoded(GradientEncoding::kTopK, std::vector<uint32_t>(10 * kCount, 0));
  const std::optional<Refusal> refusal = DecodePush(*job, &push);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status.code(), absl::StatusCode::kInvalidArgument);
}

TEST(DecodePushTest, AnEncodingOfTheFutureIsUnimplemented) {
  const auto job = MakeJob();
  ChunkPush push = Encoded(static_cast<GradientEncoding>(99), {1});
  const std::optional<Refusal> refusal = DecodePush(*job, &push);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->status.code(), absl::StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace selari
