// What the tensor file formats (safetensors, npz) have in common: element
// types, the declaration of a tensor, and the interface of a writer that takes
// all tensors' bytes as one stream, so that a file may be larger than memory.

#ifndef SELARI_COMMON_TENSOR_FILE_H_
#define SELARI_COMMON_TENSOR_FILE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace selari {

// The types that safetensors knows. All little-endian.
enum class ElementType {
  kBool,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kU16,
  kI16,
  kF16,
  kBF16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
};

// In [1, 8].
int64_t ElementBytes(ElementType type);
// As safetensors spells it, e.g. "F32".
absl::string_view ElementTypeName(ElementType type);
// The reverse; empty for an unknown name.
std::optional<ElementType> FindElementType(absl::string_view name);

struct TensorDeclaration {
  // Printable ASCII, but not safetensors' own "__metadata__".
  std::string name;
  ElementType type = ElementType::kF32;
  // Row-major, each >= 0; empty for a scalar.
  std::vector<int64_t> shape;
};

// Bytes of all elements. INVALID_ARGUMENT, naming the tensor, for a negative
// extent or a product past 2^62.
absl::StatusOr<int64_t> TensorBytes(const TensorDeclaration& tensor);

struct WrittenFile {
  int64_t size_bytes = 0;
  // 64 hexadecimal digits.
  std::string sha256;
};

class TensorFileWriter {
 public:
  virtual ~TensorFileWriter() = default;

  // The next bytes of the tensors' contents, in the order of declaration and
  // cut anywhere. Errors as FileEnv. REQUIRES: no more than was declared.
  [[nodiscard]] virtual absl::Status Append(absl::string_view bytes) = 0;

  // Ends, syncs and closes the file; its name is the caller's to sync.
  // REQUIRES: all declared bytes were appended; no call afterwards.
  [[nodiscard]] virtual absl::StatusOr<WrittenFile> Finish() = 0;
};

}  // namespace selari

#endif  // SELARI_COMMON_TENSOR_FILE_H_
