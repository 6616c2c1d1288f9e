#include "common/safetensors_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/file_env.h"
#include "common/safetensors_header.h"
#include "common/status.h"

namespace selari {

absl::StatusOr<std::unique_ptr<SafetensorsReader>> SafetensorsReader::Open(
    FileEnv& env, absl::string_view path) {
  const std::string quoted = absl::StrCat("\"", path, "\"");
  SELARI_ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file,
                          env.OpenForRead(path));
  const int64_t prefix_bytes = std::min(file->size(), kSafetensorsPrefixBytes);
  std::string bytes(static_cast<std::size_t>(prefix_bytes), '\0');
  SELARI_RETURN_IF_ERROR(file->ReadAt(0, absl::MakeSpan(bytes)));
  const absl::StatusOr<int64_t> json_bytes =
      ParseSafetensorsPrefix(bytes, file->size());
  SELARI_RETURN_IF_ERROR(Annotate(json_bytes.status(), quoted));

  bytes.resize(static_cast<std::size_t>(prefix_bytes + *json_bytes));
  const auto json =
      absl::MakeSpan(bytes).subspan(static_cast<std::size_t>(prefix_bytes));
  SELARI_RETURN_IF_ERROR(file->ReadAt(prefix_bytes, json));
  absl::StatusOr<SafetensorsHeader> header =
      ParseSafetensorsHeader(absl::string_view(json.data(), json.size()),
                             file->size() - static_cast<int64_t>(bytes.size()));
  SELARI_RETURN_IF_ERROR(Annotate(header.status(), quoted));
  return absl::WrapUnique(new SafetensorsReader(
      std::move(file), std::move(bytes), *std::move(header)));
}

}  // namespace selari
