// BufferPool: FloatBuffers of one size, used again once nobody holds them.
//
// A steady stream of updates then allocates nothing: the buffer that a new
// version replaces is the one that the next version is written into. Neither
// the floats nor the shared_ptr's control block is allocated again.
//
// Thread safety: Take from one thread at a time. The buffers may be copied and
// released on any thread, without a lock, and may outlive the pool.

#ifndef SELARI_COMMON_BUFFER_POOL_H_
#define SELARI_COMMON_BUFFER_POOL_H_

#include <cstdint>
#include <memory>

#include "common/float_buffer.h"

namespace selari {

class BufferPool {
 public:
  // Buffers of `floats` floats, >= 0, made by `source`.
  explicit BufferPool(int64_t floats,
                      BufferSource source = FloatBuffer::Allocate);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // A buffer that nobody else holds; its contents are indeterminate. It comes
  // back by itself when its last reference goes.
  std::shared_ptr<FloatBuffer> Take();

  int64_t floats() const { return floats_; }
  // Buffers made so far: held ones and free ones.
  int64_t buffers_made() const { return buffers_made_; }

 private:
  struct Core;
  struct Node;
  template <typename T>
  class NodeAllocator;

  static void Return(Node* node);
  static void Unreference(Core* core);

  const int64_t floats_;
  const BufferSource source_;
  Core* const core_;
  Node* free_ = nullptr;  // a list that only Take sees
  int64_t buffers_made_ = 0;
};

}  // namespace selari

#endif  // SELARI_COMMON_BUFFER_POOL_H_
