#include "common/shared_buffers.h"

#include "common/check.h"

namespace selari {
namespace {

constexpr int64_t kPageBytes = 4096;

}  // namespace

std::shared_ptr<FloatBuffer> SharedBuffers::Allocate(int64_t floats) {
  const int64_t bytes = floats * static_cast<int64_t>(sizeof(float));
  const int64_t taken = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  const int64_t bytes_max = memory_->offer().bytes;
  if (bytes < kSharedBytesMin || taken > bytes_max) {
    return FloatBuffer::Allocate(floats);
  }
  int64_t offset = next_.load();
  do {
    if (offset > bytes_max - taken) {
      return FloatBuffer::Allocate(floats);
    }
  } while (!next_.compare_exchange_weak(offset, offset + taken));
  const absl::StatusOr<float*> data = memory_->At(offset, taken);
  SELARI_CHECK(data.ok());
  return FloatBuffer::Adopt(*data, floats, memory_);
}

}  // namespace selari
