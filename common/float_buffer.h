// FloatBuffer: the one owner of tensor memory. A fixed number of floats whose
// first is 64-byte aligned (a cache line, and the widest vector register).
//
// A chunk's buffer is written by one thread while nobody else sees it, then
// published as shared_ptr<const FloatBuffer>; from then on it never changes,
// so pulls, checkpoints and replicas read it without locks or copies. The
// shared_ptr is there because the last reader, not the shard, ends its life.
//
// Thread safety: const methods from any thread; the mutable data() only while
// one thread holds the buffer.

#ifndef SELARI_COMMON_FLOAT_BUFFER_H_
#define SELARI_COMMON_FLOAT_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "common/check.h"

namespace selari {

class FloatBuffer {
 public:
  static constexpr std::size_t kAlignmentBytes = 64;

  // A new buffer of `size` floats, size >= 0. The contents are indeterminate:
  // each producer overwrites them all, a zero fill would be a wasted pass.
  // Running out of memory ends the process, as everywhere else.
  static std::shared_ptr<FloatBuffer> Allocate(int64_t size) {
    return std::shared_ptr<FloatBuffer>(new FloatBuffer(size));
  }
  // A buffer in memory that `owner`, not null, keeps.
  // REQUIRES: `data` has room for `size` floats and is aligned as above.
  static std::shared_ptr<FloatBuffer> Adopt(float* data, int64_t size,
                                            std::shared_ptr<void> owner) {
    return std::shared_ptr<FloatBuffer>(
        new FloatBuffer(data, size, std::move(owner)));
  }

  FloatBuffer(const FloatBuffer&) = delete;
  FloatBuffer& operator=(const FloatBuffer&) = delete;
  ~FloatBuffer() {
    if (owner_ == nullptr) {
      ::operator delete (data_, std::align_val_t{kAlignmentBytes});
    }
  }

  // The first float; aligned, never null, also when size() is 0.
  float* data() { return data_; }
  const float* data() const { return data_; }

  // Floats, not bytes.
  int64_t size() const { return size_; }
  int64_t size_bytes() const {
    return size_ * static_cast<int64_t>(sizeof(float));
  }

 private:
  explicit FloatBuffer(int64_t size) : data_(New(size)), size_(size) {}
  FloatBuffer(float* data, int64_t size, std::shared_ptr<void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}

  static float* New(int64_t size) {
    SELARI_CHECK(size >= 0 && size <= kSizeMax);
    return static_cast<float*>(
        ::operator new (static_cast<std::size_t>(size) * sizeof(float),
                        std::align_val_t{kAlignmentBytes}));
  }

  // 2^48 floats, far past any machine; keeps the byte count from overflowing.
  static constexpr int64_t kSizeMax = int64_t{1} << 48;

  float* const data_;
  const int64_t size_;
  const std::shared_ptr<void> owner_;  // null: this
};

// Where buffers come from: FloatBuffer::Allocate or the like.
using BufferSource = std::function<std::shared_ptr<FloatBuffer>(int64_t size)>;

}  // namespace selari

#endif  // SELARI_COMMON_FLOAT_BUFFER_H_
