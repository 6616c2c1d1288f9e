// GradientCompressor: cuts the gradient of a tensor into chunks and encodes
// them as the job says, with what the encodings lost the steps before.
//
// What is held back belongs to a tree node and a chunk, not to a worker: it is
// a function of the node's gradients, whoever computes them. It is kept here,
// as many floats as the model has for each node that this worker pushes.
//
// Not thread-safe.

#ifndef SELARI_WORKER_CLIENT_GRADIENT_COMPRESSOR_H_
#define SELARI_WORKER_CLIENT_GRADIENT_COMPRESSOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/buffer_pool.h"
#include "common/chunk_layout.h"
#include "common/float_buffer.h"
#include "common/reduction_tree.h"
#include "common/shard_message.h"
#include "kernels/compression/gradient_codec.h"
#include "selari/v1/job.pb.h"

namespace selari {

class GradientCompressor {
 public:
  // `source` makes the memory of what is encoded. REQUIRES: `layout` is the
  // job's, and the job passed ValidateJob.
  GradientCompressor(const v1::ResolvedJob& job, const ChunkLayout& layout,
                     const BufferSource& source);
  GradientCompressor(const GradientCompressor&) = delete;
  GradientCompressor& operator=(const GradientCompressor&) = delete;

  // The pushes, without sequence numbers, of one tensor's gradient in order of
  // its chunks. What has no codec stays where it is. To be called once for each
  // step, node (SYNC only) and tensor, step after step; a step that sends
  // everything as it is (IsResetStep) leaves nothing held back.
  // INVALID_ARGUMENT names the tensor and an element that is not finite.
  absl::StatusOr<std::vector<ChunkPush>> Encode(
      int64_t step, TreeNode node, int32_t tensor,
      const std::shared_ptr<const FloatBuffer>& gradient);

 private:
  // A chunk that is encoded.
  struct Encoder {
    std::unique_ptr<const GradientCodec> codec;
    std::unique_ptr<BufferPool> words;
  };
  // By chunk; empty for those that are not encoded.
  using States = std::vector<std::vector<float>>;

  absl::StatusOr<ChunkPush> EncodeChunk(bool exactly, const ChunkSpec& chunk,
                                        const float* gradient,
                                        std::vector<float>* state);

  const v1::ResolvedJob job_;
  const ChunkLayout layout_;
  const bool sync_;
  std::vector<Encoder> encoders_;                         // by chunk
  std::map<std::pair<int32_t, int32_t>, States> states_;  // by level and index
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_GRADIENT_COMPRESSOR_H_
