// Export of a checkpoint's model to one file that other programs read.

#ifndef SELARI_SERVER_CHECKPOINT_EXPORT_H_
#define SELARI_SERVER_CHECKPOINT_EXPORT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/tensor_file.h"
#include "server/checkpoint/checkpoint_reader.h"

namespace selari {

enum class ExportFormat {
  kSafetensors,
  kNpz,
};

struct ExportOptions {
  ExportFormat format = ExportFormat::kSafetensors;
  // Also the optimizer's state, as tensors "NAME/slot0", "NAME/slot1", …
  bool include_slots = false;
};

// Writes every tensor, whole and under its own name, to `path`, and behind them
// what export_data.h says, in blocks: a model may be larger than memory. The
// file appears under its name, with all its content, at the end or not at all.
// Errors as CheckpointReader::Read and FileEnv; INVALID_ARGUMENT when names of
// slots and tensors collide.
[[nodiscard]] absl::StatusOr<WrittenFile> ExportCheckpoint(
    FileEnv& env, CheckpointReader& reader, absl::string_view path,
    const ExportOptions& options);

}  // namespace selari

#endif  // SELARI_SERVER_CHECKPOINT_EXPORT_H_
