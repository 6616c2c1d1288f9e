// PosixFileEnv: FileEnv on the real file system. Without state: make one
// wherever one is needed. New files have mode 0666 and folders 0777, less the
// process's umask.

#ifndef SELARI_COMMON_POSIX_FILE_ENV_H_
#define SELARI_COMMON_POSIX_FILE_ENV_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"

namespace selari {

class PosixFileEnv final : public FileEnv {
 public:
  absl::StatusOr<std::unique_ptr<ReadableFile>> OpenForRead(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForWrite(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenNew(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> OpenForAppend(
      absl::string_view path) override;
  absl::Status Truncate(absl::string_view path, int64_t size) override;
  absl::StatusOr<bool> Exists(absl::string_view path) override;
  absl::StatusOr<std::vector<DirEntry>> List(absl::string_view dir) override;
  absl::Status CreateDirs(absl::string_view dir) override;
  absl::Status RemoveFile(absl::string_view path) override;
  absl::Status RemoveDir(absl::string_view dir) override;
  absl::Status Rename(absl::string_view from, absl::string_view to) override;
  absl::Status SyncDir(absl::string_view dir) override;
};

}  // namespace selari

#endif  // SELARI_COMMON_POSIX_FILE_ENV_H_
