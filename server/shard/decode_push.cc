#include "server/shard/decode_push.h"

#include <cstdint>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/float_buffer.h"
#include "common/status.h"
#include "kernels/compression/decode_gradient.h"

namespace selari {
namespace {

// No encoding of `count` elements that is worth sending has so many words.
// Anything longer is refused before it is copied.
int64_t WordsMax(int64_t count) { return 2 * count + 64; }

}  // namespace

std::optional<Refusal> DecodePush(const ShardJob& job, ChunkPush* push) {
  if (push->encoding == GradientEncoding::kFloat32) {
    return std::nullopt;
  }
  const ChunkSpec& spec = job.layout.chunk(push->chunk);
  const FloatSlice& encoded = push->gradient;
  absl::Status status;
  std::shared_ptr<FloatBuffer> floats;
  if (encoded.size() > WordsMax(spec.count)) {
    status = absl::InvalidArgumentError(
        absl::StrCat(EncodingName(push->encoding), ": ", encoded.size_bytes(),
                     " bytes, at most ", 4 * WordsMax(spec.count), " for ",
                     spec.count, " elements"));
  } else {
    std::shared_ptr<FloatBuffer> piece;
    const float* words = encoded.data();
    if (words == nullptr) {
      piece = FloatBuffer::Allocate(encoded.size());
      encoded.Copy(0, encoded.size(), piece->data());
      words = piece->data();
    }
    floats = FloatBuffer::Allocate(spec.count);
    status = DecodeGradient(
        push->encoding,
        {reinterpret_cast<const char*>(words),
         static_cast<size_t>(encoded.size_bytes())},
        absl::MakeSpan(floats->data(), static_cast<size_t>(spec.count)),
        job.compression_kernels);
  }
  if (!status.ok()) {
    return Refusal{Annotate(status, PushName(job, push->chunk)),
                   ErrorReason::kShapeMismatch};
  }
  push->gradient = FloatSlice(floats->data(), spec.count, floats);
  push->encoding = GradientEncoding::kFloat32;
  return std::nullopt;
}

}  // namespace selari
