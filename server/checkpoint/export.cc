#include "server/checkpoint/export.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/npz_writer.h"
#include "common/safetensors_writer.h"
#include "common/status.h"
#include "common/tensor_file.h"
#include "selari/v1/checkpoint.pb.h"
#include "selari/v1/tensor.pb.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/stream_array.h"

namespace selari {
namespace {

// The last array of each tensor that is written.
int32_t LastArray(const CheckpointReader& reader,
                  const ExportOptions& options) {
  return options.include_slots ? reader.slot_count() : 0;
}

std::vector<TensorDeclaration> Declarations(const CheckpointReader& reader,
                                            const ExportOptions& options) {
  std::vector<TensorDeclaration> declarations;
  for (const v1::TensorSpec& tensor : reader.manifest().job().tensors()) {
    for (int32_t array = 0; array <= LastArray(reader, options); ++array) {
      declarations.push_back(
          {array == 0 ? tensor.name()
                      : absl::StrCat(tensor.name(), "/slot", array - 1),
           ElementType::kF32,
           {tensor.shape().begin(), tensor.shape().end()}});
    }
  }
  return declarations;
}

absl::StatusOr<std::unique_ptr<TensorFileWriter>> CreateFile(
    FileEnv& env, const CheckpointReader& reader, absl::string_view path,
    const ExportOptions& options) {
  const std::vector<TensorDeclaration> tensors = Declarations(reader, options);
  if (options.format == ExportFormat::kNpz) {
    return CreateNpzFile(env, path, tensors);
  }
  const v1::CheckpointManifest& manifest = reader.manifest();
  return CreateSafetensorsFile(
      env, path, tensors,
      {{"selari.job", manifest.job().job().name()},
       {"selari.step", absl::StrCat(manifest.step())},
       {"selari.state_digest", manifest.state_digest()}});
}

absl::StatusOr<WrittenFile> WriteAll(FileEnv& env, CheckpointReader& reader,
                                     absl::string_view path,
                                     const ExportOptions& options) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFileWriter> writer,
                          CreateFile(env, reader, path, options));
  const int32_t tensor_count = reader.manifest().job().tensors_size();
  for (int32_t tensor = 0; tensor < tensor_count; ++tensor) {
    for (int32_t array = 0; array <= LastArray(reader, options); ++array) {
      SELARI_RETURN_IF_ERROR(StreamArray(reader, tensor, array,
                                         [&writer](absl::string_view bytes) {
                                           return writer->Append(bytes);
                                         }));
    }
  }
  return writer->Finish();
}

}  // namespace

absl::StatusOr<WrittenFile> ExportCheckpoint(FileEnv& env,
                                             CheckpointReader& reader,
                                             absl::string_view path,
                                             const ExportOptions& options) {
  const std::string temporary = absl::StrCat(path, ".tmp");
  absl::StatusOr<WrittenFile> written =
      WriteAll(env, reader, temporary, options);
  if (written.ok()) {
    const absl::Status renamed = RenameDurably(env, temporary, path);
    if (!renamed.ok()) {
      written = renamed;
    }
  }
  if (!written.ok()) {
    // Best effort: the caller hears of the first error.
    (void)env.RemoveFile(temporary);
  }
  return written;
}

}  // namespace selari
