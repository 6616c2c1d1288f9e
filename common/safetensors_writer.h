// Writes a safetensors file of any size as one stream.
//
//   SELARI_ASSIGN_OR_RETURN(
//       auto writer, CreateSafetensorsFile(
//           env, path, {{"w", ElementType::kF32, {2, 2}}}, /*metadata=*/{}));
//   SELARI_RETURN_IF_ERROR(writer->Append(bytes));  // 16 bytes in any pieces
//   SELARI_ASSIGN_OR_RETURN(WrittenFile file, writer->Finish());

#ifndef SELARI_COMMON_SAFETENSORS_WRITER_H_
#define SELARI_COMMON_SAFETENSORS_WRITER_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/tensor_file.h"

namespace selari {

// Starts the file `path` and writes its header. Errors as
// BuildSafetensorsHeader and FileEnv. `env` must outlive the writer.
[[nodiscard]] absl::StatusOr<std::unique_ptr<TensorFileWriter>>
CreateSafetensorsFile(FileEnv& env, absl::string_view path,
                      const std::vector<TensorDeclaration>& tensors,
                      const std::map<std::string, std::string>& metadata);

}  // namespace selari

#endif  // SELARI_COMMON_SAFETENSORS_WRITER_H_
