#include "common/job_layout.h"

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/chunk_layout.h"
#include "common/status.h"
#include "selari/v1/job.pb.h"
#include "selari/v1/tensor.pb.h"

namespace selari {
namespace {

constexpr int64_t kExtentMax = int64_t{1} << 40;
constexpr int64_t kCountMax = int64_t{1} << 60;

}  // namespace

absl::StatusOr<int64_t> TensorElementCount(const v1::TensorSpec& tensor) {
  if (tensor.data_type() != v1::DATA_TYPE_UNSPECIFIED &&
      tensor.data_type() != v1::DATA_TYPE_FLOAT32) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor \"", tensor.name(), "\": data_type must be FLOAT32, is ",
        v1::DataType_Name(tensor.data_type())));
  }
  int64_t count = 1;
  for (const int64_t extent : tensor.shape()) {
    if (extent < 1 || extent > kExtentMax ||
        __builtin_mul_overflow(count, extent, &count) || count > kCountMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor \"", tensor.name(), "\": extent ", extent,
          " is out of [1, 2^40] or makes more than 2^60 elements"));
    }
  }
  return count;
}

absl::StatusOr<ChunkLayout> MakeChunkLayout(const v1::ResolvedJob& job) {
  std::vector<int64_t> counts;
  for (const v1::TensorSpec& tensor : job.tensors()) {
    SELARI_ASSIGN_OR_RETURN(const int64_t count, TensorElementCount(tensor));
    counts.push_back(count);
  }
  ChunkLayout::Options options;
  if (job.job().cluster().shard_count() != 0) {
    options.shard_count = job.job().cluster().shard_count();
  }
  return ChunkLayout::Create(counts, options);
}

}  // namespace selari
