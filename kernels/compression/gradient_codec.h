// GradientCodec: turns the gradient of one chunk into fewer bytes, with error
// feedback: what the encoding loses is added to the chunk's next gradient
// (Seide et al., 2014; Karimireddy et al., 2019).
//
//   std::unique_ptr<const GradientCodec> codec =
//       MakeGradientCodec(spec, shape, &kernels);   // null: not worth it
//   std::vector<float> state(codec->state_floats());
//   codec->ResetState(state.data());
//   codec->Encode(gradient, state.data(), words)    // step after step
//   ...
//   DecodeGradient(encoding, bytes, floats, kernels)     // at the receiver
//
// The bytes and the state are a pure function of the spec, the shape, the state
// and the gradient: the same at every instruction-set level.
//
// LAYOUTS. Little-endian, in whole 32-bit words; what does not fill the last
// one is padded with zeros. n: elements of the chunk.
//
//   kFloat32    n floats
//   kFloat16    n binary16 codes
//   kBfloat16   n upper halves of floats
//   kInt8Block  u32 block, a multiple of 64 in [64, 256];
//               ceil(n / block) float scales, finite and >= 0; n int8 codes.
//               element i = code i * scale (i / block)
//   kTopK       u32 k <= n; k float values; k index deltas, each a varint of 7
//               bits a byte, low bits first, the high bit set on all bytes but
//               the last, in the fewest bytes. Index 0 = delta 0, index i =
//               index (i - 1) + 1 + delta i. Other elements are 0.
//   kLowRank    u32 rank in [1, 64], u32 columns, u32 first_column < columns;
//               P (rank, rows), then Q (rank, columns), floats.
//               The chunk is elements [first_column, first_column + n) of a
//               row-major matrix of `columns` columns and of the fewest rows
//               that hold them. Element (i, j) = sum over k, in order, of
//               P(k, i) * Q(k, j), rounded after each operation.
//
// kLowRank is PowerSGD (Vogels et al., 2019) with one power iteration for each
// step from the last step's Q, but on each contribution and each chunk by
// itself. In the paper the workers average P and then Q; here a push is
// one-way, so each node of the reduction tree has an approximation of its own
// and the server adds them: their sum has a higher rank than one of them. A
// chunk is cut from its tensor anywhere, so its first and last row may be cut:
// what is missing there counts as zero.
//
// Thread safety: immutable after construction; a state for one call at a time.

#ifndef SELARI_KERNELS_COMPRESSION_GRADIENT_CODEC_H_
#define SELARI_KERNELS_COMPRESSION_GRADIENT_CODEC_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "common/gradient_encoding.h"
#include "kernels/compression/compression_kernels.h"

namespace selari {

constexpr int32_t kInt8BlockDefault = 128;
constexpr int32_t kLowRankMax = 64;

// What to use for a tensor.
struct GradientCodecSpec {
  GradientEncoding encoding = GradientEncoding::kFloat32;
  // kInt8Block: elements that share a scale; 64, 128, 192 or 256.
  int32_t block = kInt8BlockDefault;
  // kTopK: share of the chunk's elements that is sent, rounded up, in (0, 1].
  double fraction = 0.01;
  // kLowRank: in [1, kLowRankMax].
  int32_t rank = 4;
};

// Where the chunk lies in its tensor.
struct ChunkShape {
  int64_t count = 0;    // elements, > 0
  int64_t offset = 0;   // of the first one in the tensor, row-major
  int64_t columns = 1;  // the tensor's last extent; 1 for a vector
};

struct EncodedGradient {
  GradientEncoding encoding;
  int64_t word_count;
};

class GradientCodec {
 public:
  explicit GradientCodec(int64_t count) : count_(count) {}
  virtual ~GradientCodec() = default;

  // Floats that Encode keeps from step to step: the residual (count), then
  // what the codec wants.
  virtual int64_t state_floats() const { return count_; }
  // The state before the first step: no residual.
  virtual void ResetState(float* state) const;
  // The most words that Encode writes.
  virtual int64_t words_max() const { return count_; }

  // Encodes gradient + residual and leaves the new residual.
  //   gradient: (count)
  //   state:    (state_floats)
  //   words:    (words_max), at any address of the type
  // The encoding is the spec's, or kFloat32 where its numbers would overflow.
  // INVALID_ARGUMENT names an element that is not finite; the state is then
  // lost.
  virtual absl::StatusOr<EncodedGradient> Encode(const float* gradient,
                                                 float* state,
                                                 uint32_t* words) const = 0;
  // Sends gradient + residual as it is, as kFloat32, and resets the state: the
  // error reset of Xie et al., 2020. Arguments and errors as of Encode.
  absl::StatusOr<EncodedGradient> EncodeExactly(const float* gradient,
                                                float* state,
                                                uint32_t* words) const;

  int64_t count() const { return count_; }

 protected:
  // For an element of `values` that is not finite.
  absl::Status NotFinite(const float* values) const;

 private:
  const int64_t count_;
};

// Null when the encoding is kFloat32 or would not save bytes on such a chunk.
// `kernels` is borrowed for the codec's life. REQUIRES: spec in its ranges.
std::unique_ptr<const GradientCodec> MakeGradientCodec(
    const GradientCodecSpec& spec, const ChunkShape& shape,
    const CompressionKernels* kernels);

}  // namespace selari

#endif  // SELARI_KERNELS_COMPRESSION_GRADIENT_CODEC_H_
