// SharedBuffers: FloatBuffers in memory that this process lends.
//
// No place is given out twice, nor are its pages given back before the whole
// memory goes. A server whose connection broke may still be writing weights
// into a buffer that was abandoned, or reading a gradient that it has not
// applied yet. So this suits buffers that are made once and used again and
// again, as those of a worker are.
//
// Thread safety: all methods from any thread. The buffers may outlive it.

#ifndef SELARI_COMMON_SHARED_BUFFERS_H_
#define SELARI_COMMON_SHARED_BUFFERS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "common/float_buffer.h"
#include "common/shared_memory.h"

namespace selari {

// Tensors of fewer bytes travel in messages: that costs less than to say where
// they lie.
constexpr int64_t kSharedBytesMin = 4096;

class SharedBuffers {
 public:
  explicit SharedBuffers(std::shared_ptr<SharedMemory> memory)
      : memory_(std::move(memory)) {}

  const std::shared_ptr<SharedMemory>& memory() const { return memory_; }

  // As FloatBuffer::Allocate; ordinary memory when it is below kSharedBytesMin
  // or nothing is left.
  std::shared_ptr<FloatBuffer> Allocate(int64_t floats);

 private:
  const std::shared_ptr<SharedMemory> memory_;
  std::atomic<int64_t> next_{SharedMemory::kHeaderBytes};
};

}  // namespace selari

#endif  // SELARI_COMMON_SHARED_BUFFERS_H_
