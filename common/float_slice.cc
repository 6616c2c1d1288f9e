#include "common/float_slice.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "common/check.h"

namespace selari {

FloatSlice::FloatSlice(absl::Span<const Piece> pieces,
                       std::shared_ptr<const void> owner)
    : pieces_(pieces), owner_(std::move(owner)) {
  SELARI_CHECK(!pieces.empty());
  const int64_t bytes = pieces.back().end_byte;
  SELARI_CHECK(bytes > 0 && bytes % int64_t{sizeof(float)} == 0);
  size_ = bytes / int64_t{sizeof(float)};
  if (pieces.size() == 1 &&
      reinterpret_cast<uintptr_t>(pieces[0].data) % alignof(float) == 0) {
    data_ = reinterpret_cast<const float*>(pieces[0].data);
  }
}

FloatSlice::Part FloatSlice::PartAt(int64_t offset, float* scratch) const {
  if (data_ != nullptr) {
    return {data_ + offset, size_ - offset};
  }
  const int64_t position = offset * int64_t{sizeof(float)};
  const auto piece = std::partition_point(
      pieces_.begin(), pieces_.end(),
      [position](const Piece& p) { return p.end_byte <= position; });
  const int64_t floats = (piece->end_byte - position) / int64_t{sizeof(float)};
  if (floats == 0) {
    Copy(offset, 1, scratch);
    return {scratch, 1};
  }
  const int64_t begin =
      piece == pieces_.begin() ? 0 : std::prev(piece)->end_byte;
  return {
      reinterpret_cast<const UnalignedFloat*>(piece->data + (position - begin)),
      floats};
}

void FloatSlice::Copy(int64_t offset, int64_t n, float* out) const {
  if (n == 0) {
    return;
  }
  if (data_ != nullptr) {
    std::copy_n(data_ + offset, n, out);
    return;
  }
  int64_t position = offset * int64_t{sizeof(float)};
  const int64_t end = position + n * int64_t{sizeof(float)};
  auto piece = std::partition_point(
      pieces_.begin(), pieces_.end(),
      [position](const Piece& p) { return p.end_byte <= position; });
  int64_t piece_begin =
      piece == pieces_.begin() ? 0 : std::prev(piece)->end_byte;
  char* to = reinterpret_cast<char*>(out);
  while (position < end) {
    const int64_t count = std::min(end, piece->end_byte) - position;
    std::memcpy(to, piece->data + (position - piece_begin),
                static_cast<size_t>(count));
    to += count;
    position += count;
    piece_begin = piece->end_byte;
    ++piece;
  }
}

}  // namespace selari
