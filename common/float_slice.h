// FloatSlice: read-only floats and whatever owns them.
//
// Our own memory is one piece. What came over the wire stays where gRPC put
// it: pieces cut at any byte, at any address, so that nothing is copied on
// arrival. Readers take it part by part where it lies (PartAt), or copy a block
// of it to a scratch buffer that stays in the first-level cache (Read).
//
// A plain value; copies share the memory. Thread safety: const methods from
// any thread, each with its own scratch.

#ifndef SELARI_COMMON_FLOAT_SLICE_H_
#define SELARI_COMMON_FLOAT_SLICE_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/types/span.h"
#include "common/unaligned_float.h"

namespace selari {

class FloatSlice {
 public:
  // Bytes [end of the piece before, end_byte) of the slice.
  struct Piece {
    const char* data;
    int64_t end_byte;
  };

  FloatSlice() = default;
  // `size` floats from `data` on, which must be aligned for floats.
  FloatSlice(const float* data, int64_t size, std::shared_ptr<const void> owner)
      : data_(data), size_(size), owner_(std::move(owner)) {}
  // Pieces of which none is empty. `owner` also owns the array of them.
  // REQUIRES: the last end_byte is a positive multiple of sizeof(float).
  FloatSlice(absl::Span<const Piece> pieces, std::shared_ptr<const void> owner);

  // Floats.
  int64_t size() const { return size_; }
  int64_t size_bytes() const {
    return size_ * static_cast<int64_t>(sizeof(float));
  }
  // The floats, if they can be read in place; otherwise null.
  const float* data() const { return data_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // For a slice whose data() is null.
  absl::Span<const Piece> pieces() const { return pieces_; }

  // Floats [offset, offset + n): in place, or copied to `scratch` (n), which
  // may be null when data() is not.
  // REQUIRES: 0 <= offset, 0 <= n, offset + n <= size().
  const float* Read(int64_t offset, int64_t n, float* scratch) const {
    if (data_ != nullptr) {
      return data_ + offset;
    }
    Copy(offset, n, scratch);
    return scratch;
  }
  // Floats that lie together from `offset` on.
  struct Part {
    const UnalignedFloat* data;
    int64_t size;  // > 0
  };
  // A float that straddles two pieces is a part of its own, in `scratch` (1).
  // REQUIRES: 0 <= offset < size().
  Part PartAt(int64_t offset, float* scratch) const;
  // Writes floats [offset, offset + n) to `out` (n).
  void Copy(int64_t offset, int64_t n, float* out) const;

 private:
  const float* data_ = nullptr;
  int64_t size_ = 0;
  absl::Span<const Piece> pieces_;
  // shared_ptr because the last reader ends the memory's life.
  std::shared_ptr<const void> owner_;
};

}  // namespace selari

#endif  // SELARI_COMMON_FLOAT_SLICE_H_
