#include "common/frame_parts.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"

namespace selari {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

constexpr int kVarintBytesMax = 10;

void AppendVarint(uint64_t value, std::string* out) {
  uint8_t bytes[kVarintBytesMax];
  const uint8_t* end = CodedOutputStream::WriteVarint64ToArray(value, bytes);
  out->append(reinterpret_cast<const char*>(bytes), end - bytes);
}

// Reads slices as one run of bytes. All methods are false at its end.
class SliceCursor {
 public:
  explicit SliceCursor(const std::vector<grpc::Slice>* slices)
      : slices_(slices) {
    SkipEmpty();
  }

  // Bytes read so far.
  int64_t position() const { return position_; }

  bool ReadVarint(uint64_t* value) {
    *value = 0;
    for (int i = 0; i < kVarintBytesMax; ++i) {
      if (AtEnd()) {
        return false;
      }
      const uint8_t byte = *Here();
      Advance(1);
      *value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        return true;
      }
    }
    return false;
  }

  // Appends the next `count` bytes to `out`.
  bool Copy(int64_t count, std::string* out) {
    return Take(count, [out](const uint8_t* data, int64_t size) {
      out->append(reinterpret_cast<const char*>(data),
                  static_cast<std::size_t>(size));
    });
  }

  // Appends where the next `count` bytes lie.
  bool Refer(int64_t count, std::vector<FloatSlice::Piece>* pieces) {
    int64_t end = 0;
    return Take(count, [&](const uint8_t* data, int64_t size) {
      end += size;
      pieces->push_back({reinterpret_cast<const char*>(data), end});
    });
  }

 private:
  bool AtEnd() const { return index_ == slices_->size(); }
  const uint8_t* Here() const { return (*slices_)[index_].begin() + offset_; }

  template <typename Use>
  bool Take(int64_t count, const Use& use) {
    while (count > 0) {
      if (AtEnd()) {
        return false;
      }
      const int64_t here =
          static_cast<int64_t>((*slices_)[index_].size() - offset_);
      const int64_t size = std::min(count, here);
      use(Here(), size);
      Advance(size);
      count -= size;
    }
    return true;
  }

  // REQUIRES: the current slice has `count` bytes left.
  void Advance(int64_t count) {
    offset_ += static_cast<std::size_t>(count);
    position_ += count;
    SkipEmpty();
  }
  void SkipEmpty() {
    while (!AtEnd() && offset_ == (*slices_)[index_].size()) {
      ++index_;
      offset_ = 0;
    }
  }

  const std::vector<grpc::Slice>* const slices_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0;  // in slice index_
  int64_t position_ = 0;
};

// Reads the message that ends at `end`. A length-delimited `field` goes to
// take(length), which reads it and may refuse; all others to `others`.
template <typename TakeField>
bool ReadMessage(int64_t end, int field, const TakeField& take,
                 SliceCursor* cursor, std::string* others) {
  while (cursor->position() < end) {
    uint64_t tag = 0;
    if (!cursor->ReadVarint(&tag) ||
        tag > std::numeric_limits<uint32_t>::max() || tag >> 3 == 0) {
      return false;
    }
    const auto type = static_cast<WireFormatLite::WireType>(tag & 7);
    if (type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      uint64_t length = 0;
      if (!cursor->ReadVarint(&length) || cursor->position() > end ||
          length > static_cast<uint64_t>(end - cursor->position())) {
        return false;
      }
      const auto size = static_cast<int64_t>(length);
      if (tag >> 3 == static_cast<uint64_t>(field)) {
        if (!take(size)) {
          return false;
        }
        continue;
      }
      AppendVarint(tag, others);
      AppendVarint(length, others);
      if (!cursor->Copy(size, others)) {
        return false;
      }
      continue;
    }
    AppendVarint(tag, others);
    bool read = false;
    if (type == WireFormatLite::WIRETYPE_VARINT) {
      uint64_t value = 0;
      read = cursor->ReadVarint(&value);
      AppendVarint(value, others);
    } else if (type == WireFormatLite::WIRETYPE_FIXED32) {
      read = cursor->Copy(4, others);
    } else if (type == WireFormatLite::WIRETYPE_FIXED64) {
      read = cursor->Copy(8, others);
    }
    if (!read) {
      return false;
    }
  }
  return cursor->position() == end;
}

bool ReadItem(int64_t end, int payload_field, SliceCursor* cursor,
              std::vector<FloatSlice::Piece>* pieces, FrameParts::Item* item) {
  item->first_piece = pieces->size();
  const auto take_payload = [&](int64_t size) {
    pieces->resize(item->first_piece);  // of two payloads the last counts
    item->payload_bytes = size;
    return cursor->Refer(size, pieces);
  };
  const bool read =
      ReadMessage(end, payload_field, take_payload, cursor, &item->fields);
  item->piece_count = pieces->size() - item->first_piece;
  return read;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FrameParts>> TakeApart(
    const grpc::ByteBuffer& bytes, int item_field, int payload_field,
    int64_t item_max) {
  auto parts = std::make_shared<FrameParts>();
  if (!bytes.Valid() || !bytes.Dump(&parts->slices).ok()) {
    return absl::InvalidArgumentError("the frame is empty");
  }
  SliceCursor cursor(&parts->slices);
  int64_t item_count = 0;
  const auto take_item = [&](int64_t size) {
    if (++item_count > item_max) {
      return false;
    }
    return ReadItem(cursor.position() + size, payload_field, &cursor,
                    &parts->pieces, &parts->items.emplace_back());
  };
  const auto length = static_cast<int64_t>(bytes.Length());
  if (!ReadMessage(length, item_field, take_item, &cursor, &parts->rest)) {
    if (item_count > item_max) {
      return absl::InvalidArgumentError(
          absl::StrCat("a frame has over ", item_max, " items"));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("a frame of ", length, " bytes is no protobuf message"));
  }
  return std::shared_ptr<const FrameParts>(std::move(parts));
}

}  // namespace selari
