#include "worker/data/encoded_array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/printable.h"
#include "common/status.h"

namespace selari {
namespace {

// Far past any machine, and small enough that the byte count of the widest
// type still fits in 64 bits.
constexpr int64_t kElementCountMax = int64_t{1} << 48;

// The element that starts at `bytes`; unaligned, either byte order.
template <class T>
T Load(const char* bytes, bool big_endian) {
  char ordered[sizeof(T)];
  std::memcpy(ordered, bytes, sizeof(T));
  if (big_endian) {
    std::reverse(ordered, ordered + sizeof(T));
  }
  T value;
  std::memcpy(&value, ordered, sizeof(T));
  return value;
}

absl::Status BadValue(const EncodedArray& array, int64_t index, int64_t dim,
                      absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      array.source, ": row ", index / dim, ", column ", index % dim, " is ",
      what, "; remove the row or repair the value"));
}

template <class T>
absl::Status FillFloats(const EncodedArray& array, int64_t dim,
                        FloatBuffer* floats) {
  const char* bytes = array.bytes.data() + array.elements_begin;
  for (int64_t i = 0; i < floats->size(); ++i) {
    const T value = Load<T>(bytes + i * sizeof(T), array.big_endian);
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) {
        return BadValue(array, i, dim, std::isnan(value) ? "NaN" : "infinite");
      }
      if (std::abs(value) > std::numeric_limits<float>::max()) {
        return BadValue(array, i, dim, "too large for a 32-bit float");
      }
    }
    floats->data()[i] = static_cast<float>(value);
  }
  return absl::OkStatus();
}

template <class T>
absl::Status FillLabels(const EncodedArray& array,
                        std::vector<int32_t>* labels) {
  const char* bytes = array.bytes.data() + array.elements_begin;
  constexpr int32_t kLabelMax = std::numeric_limits<int32_t>::max() - 1;
  for (std::size_t i = 0; i < labels->size(); ++i) {
    const T value = Load<T>(bytes + i * sizeof(T), array.big_endian);
    bool valid = false;
    if constexpr (std::is_floating_point_v<T>) {
      valid = value >= 0 && value <= static_cast<T>(kLabelMax) &&
              value == std::floor(value);
    } else if constexpr (std::is_signed_v<T>) {
      valid = value >= 0 && static_cast<int64_t>(value) <= kLabelMax;
    } else {
      valid = static_cast<uint64_t>(value) <= uint64_t{kLabelMax};
    }
    if (!valid) {
      return absl::InvalidArgumentError(absl::StrCat(
          array.source, ": label of row ", i, " is ", +value,
          "; a class number must be an integer in [0, ", kLabelMax, "]"));
    }
    // Not negative: it was checked above.
    // NOLINTNEXTLINE(bugprone-signed-char-misuse)
    (*labels)[i] = static_cast<int32_t>(value);
  }
  return absl::OkStatus();
}

// Calls `visit` with a value of the C++ type that `type` names.
template <class Visit>
absl::Status VisitType(EncodedType type, Visit visit) {
  switch (type) {
    case EncodedType::kInt8:
      return visit(int8_t{});
    case EncodedType::kUint8:
      return visit(uint8_t{});
    case EncodedType::kInt16:
      return visit(int16_t{});
    case EncodedType::kUint16:
      return visit(uint16_t{});
    case EncodedType::kInt32:
      return visit(int32_t{});
    case EncodedType::kUint32:
      return visit(uint32_t{});
    case EncodedType::kInt64:
      return visit(int64_t{});
    case EncodedType::kUint64:
      return visit(uint64_t{});
    case EncodedType::kFloat32:
      return visit(float{});
    case EncodedType::kFloat64:
      return visit(double{});
  }
  SELARI_CHECK(false);
}

}  // namespace

int64_t EncodedTypeBytes(EncodedType type) {
  int64_t bytes = 0;
  SELARI_CHECK(VisitType(type, [&bytes](auto value) {
                 bytes = sizeof(value);
                 return absl::OkStatus();
               }).ok());
  return bytes;
}

absl::string_view EncodedTypeName(EncodedType type) {
  switch (type) {
    case EncodedType::kInt8:
      return "int8";
    case EncodedType::kUint8:
      return "uint8";
    case EncodedType::kInt16:
      return "int16";
    case EncodedType::kUint16:
      return "uint16";
    case EncodedType::kInt32:
      return "int32";
    case EncodedType::kUint32:
      return "uint32";
    case EncodedType::kInt64:
      return "int64";
    case EncodedType::kUint64:
      return "uint64";
    case EncodedType::kFloat32:
      return "float32";
    case EncodedType::kFloat64:
      return "float64";
  }
  SELARI_CHECK(false);
}

std::string ShapeName(absl::Span<const int64_t> shape) {
  return shape.empty() ? "scalar" : Excerpt(absl::StrJoin(shape, "x"));
}

absl::StatusOr<int64_t> ElementCount(absl::string_view source,
                                     absl::Span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t dim : shape) {
    if (dim < 0 || (dim > 0 && count > kElementCountMax / dim)) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ": impossible shape ", ShapeName(shape),
                       "; the header is damaged"));
    }
    count *= dim;
  }
  return count;
}

absl::Status CheckLength(const EncodedArray& array, absl::string_view format) {
  SELARI_ASSIGN_OR_RETURN(const int64_t count,
                          ElementCount(array.source, array.shape));
  const int64_t expected = count * EncodedTypeBytes(array.type);
  SELARI_CHECK(array.elements_begin <= array.bytes.size());
  const int64_t actual =
      static_cast<int64_t>(array.bytes.size() - array.elements_begin);
  if (actual == expected) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      array.source, ": ", format, " header says ", ShapeName(array.shape), " ",
      EncodedTypeName(array.type), ", expected ", expected,
      " bytes after the header, has ", actual, "; the file is ",
      actual < expected ? "truncated" : "longer than it says",
      ", fetch it again"));
}

absl::StatusOr<std::shared_ptr<FloatBuffer>> ToFloats(
    const EncodedArray& array) {
  SELARI_ASSIGN_OR_RETURN(const int64_t count,
                          ElementCount(array.source, array.shape));
  if (array.shape.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        array.source, ": holds one scalar; expected one row per sample"));
  }
  const int64_t rows = array.shape[0];
  const int64_t dim = rows == 0 ? 1 : std::max<int64_t>(count / rows, 1);
  std::shared_ptr<FloatBuffer> floats = FloatBuffer::Allocate(count);
  SELARI_RETURN_IF_ERROR(VisitType(array.type, [&](auto value) {
    return FillFloats<decltype(value)>(array, dim, floats.get());
  }));
  return floats;
}

absl::StatusOr<std::vector<int32_t>> ToLabels(const EncodedArray& array) {
  const bool column = array.shape.size() == 2 && array.shape[1] == 1;
  if (array.shape.size() != 1 && !column) {
    return absl::InvalidArgumentError(
        absl::StrCat(array.source, ": labels have shape ",
                     ShapeName(array.shape), "; expected one per row"));
  }
  std::vector<int32_t> labels(static_cast<std::size_t>(array.shape[0]));
  SELARI_RETURN_IF_ERROR(VisitType(array.type, [&](auto value) {
    return FillLabels<decltype(value)>(array, &labels);
  }));
  return labels;
}

}  // namespace selari
