#include "common/tensor_file.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace selari {
namespace {

struct TypeRow {
  ElementType type;
  absl::string_view name;
  int64_t bytes;
};

// In the order of the enum.
constexpr std::array<TypeRow, 15> kTypes = {{
    {ElementType::kBool, "BOOL", 1},
    {ElementType::kU8, "U8", 1},
    {ElementType::kI8, "I8", 1},
    {ElementType::kF8E5M2, "F8_E5M2", 1},
    {ElementType::kF8E4M3, "F8_E4M3", 1},
    {ElementType::kU16, "U16", 2},
    {ElementType::kI16, "I16", 2},
    {ElementType::kF16, "F16", 2},
    {ElementType::kBF16, "BF16", 2},
    {ElementType::kU32, "U32", 4},
    {ElementType::kI32, "I32", 4},
    {ElementType::kF32, "F32", 4},
    {ElementType::kU64, "U64", 8},
    {ElementType::kI64, "I64", 8},
    {ElementType::kF64, "F64", 8},
}};

// Far above any file, far below an overflow of sums of a few.
constexpr int64_t kTensorBytesMax = int64_t{1} << 62;

}  // namespace

int64_t ElementBytes(ElementType type) {
  return kTypes[static_cast<std::size_t>(type)].bytes;
}

absl::string_view ElementTypeName(ElementType type) {
  return kTypes[static_cast<std::size_t>(type)].name;
}

std::optional<ElementType> FindElementType(absl::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) {
      return row.type;
    }
  }
  return std::nullopt;
}

absl::StatusOr<int64_t> TensorBytes(const TensorDeclaration& tensor) {
  int64_t bytes = ElementBytes(tensor.type);
  for (const int64_t extent : tensor.shape) {
    int64_t product = 0;
    if (extent < 0 || __builtin_mul_overflow(bytes, extent, &product) ||
        product > kTensorBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor \"", tensor.name, "\": extent ", extent,
                       " makes the shape impossible"));
    }
    bytes = product;
  }
  return bytes;
}

}  // namespace selari
