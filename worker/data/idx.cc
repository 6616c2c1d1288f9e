#include "worker/data/idx.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr std::size_t kMagicBytes = 4;
constexpr std::size_t kDimensionBytes = 4;

std::optional<EncodedType> TypeOfCode(uint8_t code) {
  switch (code) {
    case 0x08:
      return EncodedType::kUint8;
    case 0x09:
      return EncodedType::kInt8;
    case 0x0B:
      return EncodedType::kInt16;
    case 0x0C:
      return EncodedType::kInt32;
    case 0x0D:
      return EncodedType::kFloat32;
    case 0x0E:
      return EncodedType::kFloat64;
    default:
      return std::nullopt;
  }
}

uint8_t ByteAt(const std::string& bytes, std::size_t i) {
  return static_cast<uint8_t>(bytes[i]);
}

}  // namespace

absl::StatusOr<EncodedArray> ParseIdx(std::string source, std::string bytes) {
  if (bytes.size() < kMagicBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": has ", bytes.size(),
                     " bytes, an IDX file starts with a header of ",
                     kMagicBytes, "; fetch it again"));
  }
  const std::optional<EncodedType> type = TypeOfCode(ByteAt(bytes, 2));
  if (bytes[0] != 0 || bytes[1] != 0 || !type.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": starts with bytes ", ByteAt(bytes, 0), " ", ByteAt(bytes, 1),
        " ", ByteAt(bytes, 2),
        "; an IDX file starts with 0 0 and an element type (8 for images and "
        "labels): is this the right file and format?"));
  }
  const std::size_t rank = ByteAt(bytes, 3);
  const std::size_t header_bytes = kMagicBytes + rank * kDimensionBytes;
  if (bytes.size() < header_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": IDX header of ", rank, " dimensions takes ", header_bytes,
        " bytes, the file has ", bytes.size(), "; fetch it again"));
  }
  EncodedArray array;
  array.source = std::move(source);
  array.type = *type;
  array.big_endian = true;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::size_t at = kMagicBytes + d * kDimensionBytes;
    array.shape.push_back(int64_t{ByteAt(bytes, at)} << 24 |
                          int64_t{ByteAt(bytes, at + 1)} << 16 |
                          int64_t{ByteAt(bytes, at + 2)} << 8 |
                          int64_t{ByteAt(bytes, at + 3)});
  }
  array.bytes = std::move(bytes);
  array.elements_begin = header_bytes;
  SELARI_RETURN_IF_ERROR(CheckLength(array, "IDX"));
  return array;
}

}  // namespace selari
