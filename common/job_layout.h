// The chunk layout of a job: the one function by which server, worker and
// checkpoint agree on where every element lives.

#ifndef SELARI_COMMON_JOB_LAYOUT_H_
#define SELARI_COMMON_JOB_LAYOUT_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "common/chunk_layout.h"
#include "selari/v1/job.pb.h"
#include "selari/v1/tensor.pb.h"

namespace selari {

// Elements of the tensor, > 0. INVALID_ARGUMENT, naming it, for an extent out
// of [1, 2^40], a product past 2^60 or another type than FLOAT32.
absl::StatusOr<int64_t> TensorElementCount(const v1::TensorSpec& tensor);

// INVALID_ARGUMENT as above, or as ChunkLayout::Create; a shard_count of 0
// means its default.
absl::StatusOr<ChunkLayout> MakeChunkLayout(const v1::ResolvedJob& job);

}  // namespace selari

#endif  // SELARI_COMMON_JOB_LAYOUT_H_
