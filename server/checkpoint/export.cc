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
#include "server/checkpoint/export_data.h"
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

// What stands behind the model's own tensors.
std::vector<DataArray> Extras(const v1::ResolvedJob& job,
                              const ExportOptions& options) {
  std::vector<DataArray> extras = ScalingArrays(job);
  std::string names = FeatureNamesJson(job);
  // A zip has no place for metadata.
  if (options.format == ExportFormat::kNpz && !names.empty()) {
    extras.push_back({{"data/feature_names",
                       ElementType::kU8,
                       {static_cast<int64_t>(names.size())}},
                      std::move(names)});
  }
  return extras;
}

absl::StatusOr<std::unique_ptr<TensorFileWriter>> CreateFile(
    FileEnv& env, const CheckpointReader& reader, absl::string_view path,
    const std::vector<TensorDeclaration>& tensors,
    const ExportOptions& options) {
  if (options.format == ExportFormat::kNpz) {
    return CreateNpzFile(env, path, tensors);
  }
  const v1::CheckpointManifest& manifest = reader.manifest();
  std::map<std::string, std::string> metadata = DataMetadata(manifest.job());
  metadata["selari.job"] = manifest.job().job().name();
  metadata["selari.step"] = absl::StrCat(manifest.step());
  metadata["selari.state_digest"] = manifest.state_digest();
  return CreateSafetensorsFile(env, path, tensors, metadata);
}

absl::StatusOr<WrittenFile> WriteAll(FileEnv& env, CheckpointReader& reader,
                                     absl::string_view path,
                                     const ExportOptions& options) {
  const v1::ResolvedJob& job = reader.manifest().job();
  const std::vector<DataArray> extras = Extras(job, options);
  std::vector<TensorDeclaration> tensors = Declarations(reader, options);
  for (const DataArray& extra : extras) {
    tensors.push_back(extra.declaration);
  }
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFileWriter> writer,
                          CreateFile(env, reader, path, tensors, options));
  for (int32_t tensor = 0; tensor < job.tensors_size(); ++tensor) {
    for (int32_t array = 0; array <= LastArray(reader, options); ++array) {
      SELARI_RETURN_IF_ERROR(StreamArray(reader, tensor, array,
                                         [&writer](absl::string_view bytes) {
                                           return writer->Append(bytes);
                                         }));
    }
  }
  for (const DataArray& extra : extras) {
    SELARI_RETURN_IF_ERROR(writer->Append(extra.bytes));
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
