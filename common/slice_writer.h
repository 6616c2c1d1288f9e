// SliceWriter: collects a protobuf message as grpc::Slices. Small parts are
// copied together, tensors stay where they are and are kept alive by the
// slices.
//
// Not thread-safe.

#ifndef SELARI_COMMON_SLICE_WRITER_H_
#define SELARI_COMMON_SLICE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/float_slice.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace selari {

class SliceWriter {
 public:
  void Append(const std::string& bytes) { pending_ += bytes; }

  void AppendLengthTag(int field, int64_t length) {
    AppendVarint(google::protobuf::internal::WireFormatLite::MakeTag(
        field,
        google::protobuf::internal::WireFormatLite::WIRETYPE_LENGTH_DELIMITED));
    AppendVarint(static_cast<uint64_t>(length));
  }

  void Append(const FloatSlice& floats) {
    if (floats.data() != nullptr || floats.size() == 0) {
      Append(reinterpret_cast<const char*>(floats.data()), floats.size_bytes(),
             floats.owner());
      return;
    }
    int64_t begin = 0;
    for (const FloatSlice::Piece& piece : floats.pieces()) {
      Append(piece.data, piece.end_byte - begin, floats.owner());
      begin = piece.end_byte;
    }
  }

  grpc::ByteBuffer Finish() {
    FlushPending();
    return grpc::ByteBuffer(slices_.data(), slices_.size());
  }

 private:
  // Below this, copying costs less than one more slice and its reference.
  static constexpr int64_t kReferenceBytesMin = 1024;

  void Append(const char* data, int64_t bytes,
              const std::shared_ptr<const void>& owner) {
    if (bytes < kReferenceBytesMin) {
      pending_.append(data == nullptr ? "" : data, static_cast<size_t>(bytes));
      return;
    }
    FlushPending();
    using Owner = std::shared_ptr<const void>;
    slices_.emplace_back(
        const_cast<char*>(data), static_cast<size_t>(bytes),
        [](void* held) { delete static_cast<Owner*>(held); }, new Owner(owner));
  }

  void AppendVarint(uint64_t value) {
    uint8_t bytes[10];
    const uint8_t* end =
        google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value,
                                                                      bytes);
    pending_.append(reinterpret_cast<const char*>(bytes), end - bytes);
  }

  void FlushPending() {
    if (!pending_.empty()) {
      slices_.emplace_back(pending_);
      pending_.clear();
    }
  }

  std::string pending_;
  std::vector<grpc::Slice> slices_;
};

}  // namespace selari

#endif  // SELARI_COMMON_SLICE_WRITER_H_
