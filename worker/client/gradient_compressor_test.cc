#include "worker/client/gradient_compressor.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "common/job_config.h"
#include "common/job_layout.h"
#include "common/shard_message.h"
#include "gtest/gtest.h"
#include "kernels/compression/choose_compression_kernels.h"
#include "kernels/compression/decode_gradient.h"

namespace selari {
namespace {

constexpr TreeNode kLeft = {2, 0};
constexpr TreeNode kRight = {2, 1};
constexpr int64_t kKernelFloats = 40 * 30;

// Two tensors, cut into three shards, of which the bias is not encoded.
v1::ResolvedJob MakeJob(int32_t reset_every_steps) {
  v1::ResolvedJob job;
  job.set_total_steps(100);
  v1::TensorSpec& kernel = *job.add_tensors();
  kernel.set_name("kernel");
  kernel.add_shape(40);
  kernel.add_shape(30);
  v1::TensorSpec& bias = *job.add_tensors();
  bias.set_name("bias");
  bias.add_shape(30);
  job.mutable_job()->mutable_cluster()->set_shard_count(3);
  v1::Compression& compression = *job.mutable_job()->mutable_compression();
  compression.set_reset_every_steps(reset_every_steps);
  compression.mutable_codec()->mutable_top_k()->set_fraction(0.1);
  compression.add_rules()->set_tensors("bias");
  FillJobDefaults(job.mutable_job());
  return job;
}

std::shared_ptr<FloatBuffer> Gradient(int64_t size, float scale) {
  auto gradient = FloatBuffer::Allocate(size);
  for (int64_t i = 0; i < size; ++i) {
    gradient->data()[i] = scale * static_cast<float>((i * 37) % 101 - 50);
  }
  return gradient;
}

class GradientCompressorTest : public testing::Test {
 protected:
  explicit GradientCompressorTest(int32_t reset_every_steps = 10)
      : job_(MakeJob(reset_every_steps)),
        compressor_(job_, *MakeChunkLayout(job_), FloatBuffer::Allocate) {}

  std::vector<ChunkPush> Encode(int64_t step, TreeNode node, int32_t tensor,
                                const std::shared_ptr<FloatBuffer>& gradient) {
    auto pushes = compressor_.Encode(step, node, tensor, gradient);
    EXPECT_TRUE(pushes.ok()) << pushes.status();
    return *std::move(pushes);
  }

  // The tensor as the server sees it.
  std::vector<float> Decode(const std::vector<ChunkPush>& pushes) {
    const ChunkLayout layout = *MakeChunkLayout(job_);
    std::vector<float> all;
    for (const ChunkPush& push : pushes) {
      std::vector<float> floats(layout.chunk(push.chunk).count);
      const absl::Status status = DecodeGradient(
          push.encoding,
          {reinterpret_cast<const char*>(push.gradient.data()),
           static_cast<size_t>(push.gradient.size_bytes())},
          absl::MakeSpan(floats), ChooseCompressionKernels(IsaLevel::kV2));
      EXPECT_TRUE(status.ok()) << status;
      all.insert(all.end(), floats.begin(), floats.end());
    }
    return all;
  }

  const v1::ResolvedJob job_;
  GradientCompressor compressor_;
};

TEST_F(GradientCompressorTest, EncodesChunkByChunkWhatHasACodec) {
  const auto gradient = Gradient(kKernelFloats, 1);
  const std::vector<ChunkPush> pushes = Encode(3, kLeft, 0, gradient);
  ASSERT_EQ(pushes.size(), 3u);
  for (const ChunkPush& push : pushes) {
    EXPECT_EQ(push.step, 3);
    EXPECT_EQ(push.node, kLeft);
    EXPECT_EQ(push.encoding, GradientEncoding::kTopK);
    EXPECT_LT(push.gradient.size(), 60);
  }
}

TEST_F(GradientCompressorTest, LeavesTheOthersWhereTheyAre) {
  const auto gradient = Gradient(30, 1);
  const std::vector<ChunkPush> pushes = Encode(3, kLeft, 1, gradient);
  ASSERT_EQ(pushes.size(), 1u);
  EXPECT_EQ(pushes[0].encoding, GradientEncoding::kFloat32);
  EXPECT_EQ(pushes[0].gradient.data(), gradient->data());
}

TEST_F(GradientCompressorTest, SendsAllThatWasHeldBackAtAReset) {
  std::vector<double> received(kKernelFloats, 0.0);
  for (int64_t step = 0; step < 10; ++step) {
    const std::vector<ChunkPush> pushes =
        Encode(step, kLeft, 0, Gradient(kKernelFloats, 1));
    EXPECT_EQ(pushes[0].encoding,
              step == 9 ? GradientEncoding::kFloat32 : GradientEncoding::kTopK);
    const std::vector<float> decoded = Decode(pushes);
    for (int64_t i = 0; i < kKernelFloats; ++i) {
      received[i] += decoded[i];
    }
  }
  const auto gradient = Gradient(kKernelFloats, 1);
  for (int64_t i = 0; i < kKernelFloats; ++i) {
    ASSERT_EQ(received[i], 10 * gradient->data()[i]);
  }
}

TEST_F(GradientCompressorTest, ANodesBytesDependOnItsOwnGradientsAlone) {
  GradientCompressor alone(job_, *MakeChunkLayout(job_), FloatBuffer::Allocate);
  for (int64_t step = 0; step < 4; ++step) {
    Encode(step, kRight, 0, Gradient(kKernelFloats, 0.3f));
    const auto gradient = Gradient(kKernelFloats, 1.0f + step);
    const auto want = alone.Encode(step, kLeft, 0, gradient);
    ASSERT_TRUE(want.ok());
    EXPECT_EQ(Decode(Encode(step, kLeft, 0, gradient)), Decode(*want));
  }
}

TEST_F(GradientCompressorTest, NamesTheTensorThatIsNotFinite) {
  const auto gradient = Gradient(kKernelFloats, 1);
  gradient->data()[5] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(compressor_.Encode(3, kLeft, 0, gradient).status(),
            absl::InvalidArgumentError(
                "the gradient of tensor \"kernel\" from element 0 on, with "
                "what compression held back: element 5 of the chunk is -inf"));
}

}  // namespace
}  // namespace selari
