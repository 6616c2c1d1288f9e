// AppendLog: a file of whole records that survives a disk which is full for a
// while. Training goes on; the records wait in memory and are written when
// there is room again, after cutting off what was written in part.
//
// Thread safety: one thread.

#ifndef SELARI_WORKER_METRICS_APPEND_LOG_H_
#define SELARI_WORKER_METRICS_APPEND_LOG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"

namespace selari {

class AppendLog {
 public:
  struct Options {
    // Bytes that may wait in memory, > 0; records that come after that are
    // lost, and counted.
    int64_t pending_bytes_max = int64_t{1} << 20;
  };

  // Goes on after the first `size_bytes` bytes of the file, which is cut to
  // that size, or made, by the first Append. `env` must outlive this.
  AppendLog(FileEnv& env, absl::string_view path, int64_t size_bytes,
            const Options& options);

  // Writes the record and those that waited. After an error, as FileEnv, the
  // record waits or is lost; the next call tries again.
  [[nodiscard]] absl::Status Append(absl::string_view record);

  // Writes what waits and syncs the file.
  [[nodiscard]] absl::Status Sync();

  const std::string& path() const { return path_; }
  // Records that were lost.
  int64_t lost_count() const { return lost_count_; }

 private:
  absl::Status WritePending();

  // Constant after construction.
  FileEnv& env_;
  const std::string path_;
  const Options options_;

  std::unique_ptr<WritableFile> file_;  // Null at first and after an error.
  int64_t written_bytes_;               // Of whole records in the file.
  std::string pending_;                 // Whole records.
  int64_t lost_count_ = 0;
};

}  // namespace selari

#endif  // SELARI_WORKER_METRICS_APPEND_LOG_H_
