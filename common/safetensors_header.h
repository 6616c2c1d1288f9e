// The header of a safetensors file, between bytes and values. Pure functions,
// thread-safe; docs/FORMAT.md shows the layout.
//
//   8 bytes      header size N, little-endian
//   N bytes      JSON: tensor name -> dtype, shape, data_offsets; padded with
//                spaces so that the data start at a multiple of 8
//   the rest     the tensors' bytes, without gaps

#ifndef SELARI_COMMON_SAFETENSORS_HEADER_H_
#define SELARI_COMMON_SAFETENSORS_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/tensor_file.h"

namespace selari {

// Bytes before the JSON text.
inline constexpr int64_t kSafetensorsPrefixBytes = 8;
// The limit of the reference implementation: nobody reads a larger header.
inline constexpr int64_t kSafetensorsHeaderBytesMax = 100'000'000;

struct SafetensorsEntry {
  TensorDeclaration tensor;
  // The tensor's bytes are [begin, end) of the data, counted from the first
  // byte after the header.
  int64_t begin = 0;
  int64_t end = 0;
};

struct SafetensorsHeader {
  // In the order of the data.
  std::vector<SafetensorsEntry> entries;
  // Free text for programs; "__metadata__" in the file.
  std::map<std::string, std::string> metadata;
};

// Lays the tensors end to end in the order given. Returns the prefix and the
// padded JSON. INVALID_ARGUMENT for an impossible shape, a name used twice, a
// header past the limit, or text that is not printable ASCII.
absl::StatusOr<std::string> BuildSafetensorsHeader(
    const std::vector<TensorDeclaration>& tensors,
    const std::map<std::string, std::string>& metadata);

// N of the first 8 bytes. DATA_LOSS when it cannot be the header of a file of
// `file_bytes` bytes.
absl::StatusOr<int64_t> ParseSafetensorsPrefix(absl::string_view prefix,
                                               int64_t file_bytes);

// The header whose JSON text is `json`, of a file with `data_bytes` bytes
// behind it. DATA_LOSS, saying what is wrong, unless it is what the reference
// implementation accepts: known types, shapes that fit their offsets, and
// tensors that cover the data without gap or overlap. Never trusts a number.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(absl::string_view json,
                                                         int64_t data_bytes);

}  // namespace selari

#endif  // SELARI_COMMON_SAFETENSORS_HEADER_H_
