// FileMetadataStore: a MetadataStore in a folder of its own. Each key is one
// file, KEY.meta, replaced by an atomic rename; a checksum tells damage. One
// process at a time, kept by a lock on the file LOCK.
//
// A file is one line of text and the value's bytes:
//   selari-metadata 1 version=3 bytes=42 crc32c=0123abcd\n
// with the checksum over "version=3 bytes=42\n" and the value.

#ifndef SELARI_SERVER_COORDINATOR_FILE_METADATA_STORE_H_
#define SELARI_SERVER_COORDINATOR_FILE_METADATA_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "common/file_lock.h"
#include "common/mutex.h"
#include "server/coordinator/metadata_store.h"

namespace selari {

class FileMetadataStore : public MetadataStore {
 public:
  // Opens the folder, which is made if missing. `env` is borrowed.
  // ALREADY_EXISTS when another process has it open; errors of the disk.
  static absl::StatusOr<std::unique_ptr<FileMetadataStore>> Open(
      FileEnv* env, absl::string_view directory);
  // One value of a folder that another process may have open, as it was last
  // written. Errors as Get.
  static absl::StatusOr<MetadataValue> ReadOnly(FileEnv* env,
                                                absl::string_view directory,
                                                absl::string_view key);
  // For an `env` that is not the machine's: there is nothing to lock.
  static absl::StatusOr<std::unique_ptr<FileMetadataStore>> OpenUnlockedForTest(
      FileEnv* env, absl::string_view directory);

  absl::StatusOr<MetadataValue> Get(absl::string_view key) override;
  absl::StatusOr<int64_t> Put(absl::string_view key,
                              absl::string_view bytes) override;
  absl::StatusOr<int64_t> CompareAndSwap(absl::string_view key,
                                         int64_t expected_version,
                                         absl::string_view bytes) override;
  absl::StatusOr<std::vector<std::string>> List() override;

 private:
  FileMetadataStore(FileEnv* env, std::string directory,
                    std::unique_ptr<FileLock> lock)
      : env_(*env), directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::string PathOf(absl::string_view key) const;
  absl::StatusOr<MetadataValue> Read(absl::string_view key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // 0 when there is none.
  absl::StatusOr<int64_t> CurrentVersion(absl::string_view key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<int64_t> Write(absl::string_view key, int64_t version,
                                absl::string_view bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  FileEnv& env_;
  const std::string directory_;
  const std::unique_ptr<FileLock> lock_;
  // One read-compare-write at a time: held over the disk, off every hot path.
  Mutex mu_;
};

}  // namespace selari

#endif  // SELARI_SERVER_COORDINATOR_FILE_METADATA_STORE_H_
