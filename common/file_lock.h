// FileLock: keeps other processes out of a folder that one process owns. The
// operating system ends the lock with the process, however it dies.

#ifndef SELARI_COMMON_FILE_LOCK_H_
#define SELARI_COMMON_FILE_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace selari {

class FileLock {
 public:
  // Locks the file, which is made if missing. ALREADY_EXISTS, naming the file
  // and the other process, when somebody holds it (also another FileLock of
  // this process) for longer than Find does, 50 ms. Otherwise errors as
  // FileEnv.
  static absl::StatusOr<std::unique_ptr<FileLock>> Acquire(
      absl::string_view path);

  // Who has the file locked, without waiting. OK with held = false also when
  // there is no such file; otherwise errors as FileEnv.
  struct Holder {
    bool held = false;
    // Its process id, for people; empty if unreadable.
    std::string process;
  };
  static absl::StatusOr<Holder> Find(absl::string_view path);

  // As Acquire's ALREADY_EXISTS.
  static absl::Status HeldError(absl::string_view path,
                                absl::string_view process);

  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  // Unlocks. The file stays: removing it would race with the next owner.
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
};

}  // namespace selari

#endif  // SELARI_COMMON_FILE_LOCK_H_
