// FrameParts: a serialized protobuf message taken apart without copying its
// tensors. The message lies in grpc::Slices, cut anywhere; it has one repeated
// message field (the items) whose messages have one large bytes field (the
// payload). Everything else is small and is copied together, to be parsed by
// protobuf itself: so unknown fields, any order of fields and fields that come
// twice mean what they mean to protobuf.
//
// Groups (a relic of proto2) are not understood.

#ifndef SELARI_COMMON_FRAME_PARTS_H_
#define SELARI_COMMON_FRAME_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/float_slice.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/slice.h"

namespace selari {

// A plain value; the payloads of its items point into its own slices. Shared,
// as each payload keeps the whole frame alive.
struct FrameParts {
  struct Item {
    std::string fields;  // serialized, without the payload
    std::size_t first_piece = 0;
    std::size_t piece_count = 0;
    int64_t payload_bytes = 0;
  };

  std::string rest;  // serialized, without the items
  std::vector<Item> items;
  std::vector<FloatSlice::Piece> pieces;  // of all payloads, none is empty
  std::vector<grpc::Slice> slices;        // the frame itself
};

// INVALID_ARGUMENT when the bytes are no message, or hold over `item_max`
// items.
absl::StatusOr<std::shared_ptr<const FrameParts>> TakeApart(
    const grpc::ByteBuffer& bytes, int item_field, int payload_field,
    int64_t item_max);

}  // namespace selari

#endif  // SELARI_COMMON_FRAME_PARTS_H_
