#include "worker/client/gradient_compressor.h"

#include "absl/strings/str_cat.h"
#include "common/isa.h"
#include "common/job_compression.h"
#include "common/job_reduction.h"
#include "common/status.h"
#include "kernels/compression/choose_compression_kernels.h"

namespace selari {
namespace {

GradientCodecSpec SpecOf(const v1::GradientCodec& codec) {
  GradientCodecSpec spec;
  switch (codec.kind_case()) {
    case v1::GradientCodec::kFloat16:
      spec.encoding = GradientEncoding::kFloat16;
      break;
    case v1::GradientCodec::kBfloat16:
      spec.encoding = GradientEncoding::kBfloat16;
      break;
    case v1::GradientCodec::kInt8Block:
      spec.encoding = GradientEncoding::kInt8Block;
      spec.block = codec.int8_block().block_size();
      break;
    case v1::GradientCodec::kTopK:
      spec.encoding = GradientEncoding::kTopK;
      spec.fraction = codec.top_k().fraction();
      break;
    case v1::GradientCodec::kLowRank:
      spec.encoding = GradientEncoding::kLowRank;
      spec.rank = codec.low_rank().rank();
      break;
    case v1::GradientCodec::KIND_NOT_SET:
      break;
  }
  return spec;
}

// The extent of rows; a vector is a column.
int64_t ColumnsOf(const v1::TensorSpec& tensor) {
  return tensor.shape_size() < 2 ? 1 : tensor.shape(tensor.shape_size() - 1);
}

}  // namespace

GradientCompressor::GradientCompressor(const v1::ResolvedJob& job,
                                       const ChunkLayout& layout,
                                       const BufferSource& source)
    : job_(job), layout_(layout), sync_(IsSync(job.job())) {
  // Codecs give the same bytes at each level: the fastest will do.
  const CompressionKernels& kernels =
      ChooseCompressionKernels(DetectIsaLevel());
  for (const ChunkSpec& chunk : layout_.chunks()) {
    const v1::TensorSpec& tensor = job_.tensors(chunk.tensor);
    const v1::GradientCodec* const codec =
        CodecOfTensor(job_.job(), tensor.name());
    Encoder encoder;
    if (codec != nullptr) {
      encoder.codec = MakeGradientCodec(
          SpecOf(*codec), {chunk.count, chunk.offset, ColumnsOf(tensor)},
          &kernels);
    }
    if (encoder.codec != nullptr) {
      encoder.words =
          std::make_unique<BufferPool>(encoder.codec->words_max(), source);
    }
    encoders_.push_back(std::move(encoder));
  }
}

absl::StatusOr<std::vector<ChunkPush>> GradientCompressor::Encode(
    int64_t step, TreeNode node, int32_t tensor,
    const std::shared_ptr<const FloatBuffer>& gradient) {
  States& states = states_[sync_ ? std::make_pair(node.level, node.index)
                                 : std::make_pair(0, 0)];
  states.resize(encoders_.size());
  const bool exactly = IsResetStep(job_, step);
  std::vector<ChunkPush> pushes;
  for (const ChunkSpec& chunk : layout_.ChunksOfTensor(tensor)) {
    ChunkPush push;
    if (encoders_[chunk.chunk].codec == nullptr) {
      push.gradient = {gradient->data() + chunk.offset, chunk.count, gradient};
    } else {
      SELARI_ASSIGN_OR_RETURN(
          push, EncodeChunk(exactly, chunk, gradient->data() + chunk.offset,
                            &states[chunk.chunk]));
    }
    push.chunk = chunk.chunk;
    push.step = step;
    push.node = node;
    pushes.push_back(std::move(push));
  }
  return pushes;
}

absl::StatusOr<ChunkPush> GradientCompressor::EncodeChunk(
    bool exactly, const ChunkSpec& chunk, const float* gradient,
    std::vector<float>* state) {
  const Encoder& encoder = encoders_[chunk.chunk];
  if (state->empty()) {
    state->resize(encoder.codec->state_floats());
    encoder.codec->ResetState(state->data());
  }
  const std::shared_ptr<FloatBuffer> buffer = encoder.words->Take();
  auto* const words = reinterpret_cast<uint32_t*>(buffer->data());
  auto encoded =
      exactly ? encoder.codec->EncodeExactly(gradient, state->data(), words)
              : encoder.codec->Encode(gradient, state->data(), words);
  if (!encoded.ok()) {
    return Annotate(
        encoded.status(),
        absl::StrCat("the gradient of tensor \"",
                     job_.tensors(chunk.tensor).name(), "\" from element ",
                     chunk.offset, " on, with what compression held back"));
  }
  ChunkPush push;
  push.encoding = encoded->encoding;
  push.gradient = {buffer->data(), encoded->word_count, buffer};
  return push;
}

}  // namespace selari
