// FileEnv: every file access of servers, workers and tools goes through this
// interface, so that tests can lose unsynced data, fill the disk or fail the
// nth call (common/fault_file_env.h). The real one is PosixFileEnv.
//
// Thread safety: a FileEnv and a ReadableFile may be used from any thread; a
// WritableFile by one thread at a time.
//
// Errors, the same for every method: one sentence that names the path, the
// system's reason and the way out, under the code
//   NOT_FOUND            the file or a folder above it does not exist
//   ALREADY_EXISTS       something is in the way
//   PERMISSION_DENIED    permissions, or a read-only file system
//   RESOURCE_EXHAUSTED   disk or quota full, too many open files
//   DATA_LOSS            input/output error, or a file that ends too early
//   INVALID_ARGUMENT     a path that cannot be meant: a folder where a file
//                        should be or the reverse, a pipe, a device, a name
//                        that is too long
//   UNKNOWN              anything else

#ifndef SELARI_COMMON_FILE_ENV_H_
#define SELARI_COMMON_FILE_ENV_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace selari {

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  // Fills `out` with the bytes from `offset`, >= 0, on. DATA_LOSS when the
  // file ends before that.
  [[nodiscard]] virtual absl::Status ReadAt(int64_t offset,
                                            absl::Span<char> out) const = 0;

  // Bytes in the file when it was opened.
  virtual int64_t size() const = 0;
};

// A file's bytes in memory, paged in as they are touched. Only for inputs
// nobody changes meanwhile: touching a part that was cut off ends the process.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual absl::string_view bytes() const = 0;
};

// Sequential writer without a buffer of its own: what Append took, other
// processes see, and a crash of this process does not lose. A crash of the
// machine loses all that no Sync covered.
//
// After the first failed call the file's content is unknown, so every later
// call returns that first error again. The destructor closes without Sync.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  [[nodiscard]] virtual absl::Status Append(absl::string_view bytes) = 0;
  // Has the system begin to write what was appended, and does not wait for it:
  // a Sync later on finds less left to do. A hint, which may do nothing.
  virtual void StartWriting() {}
  // Has the system keep no copy in memory of what is on the disk, as nobody is
  // about to read it: the memory goes round, and is not taken from what others
  // read. A hint, which may do nothing.
  virtual void ForgetWritten() {}
  // Blocks until all bytes are on the disk. A new file's name is durable only
  // after FileEnv::SyncDir of its folder.
  [[nodiscard]] virtual absl::Status Sync() = 0;
  // REQUIRES: no call afterwards.
  [[nodiscard]] virtual absl::Status Close() = 0;
};

struct DirEntry {
  std::string name;
  // A symbolic link to a folder is not one.
  bool is_directory = false;
};

class FileEnv {
 public:
  virtual ~FileEnv() = default;

  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<ReadableFile>>
  OpenForRead(absl::string_view path) = 0;

  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<MappedFile>> Map(
      absl::string_view path) = 0;

  // A new empty file; an old one of that name is emptied.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<WritableFile>>
  OpenForWrite(absl::string_view path) = 0;

  // A new empty file. ALREADY_EXISTS when there is something of that name: of
  // all who try, one has it.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<WritableFile>> OpenNew(
      absl::string_view path) = 0;

  // Goes on after the last byte of the file, which is made if missing.
  [[nodiscard]] virtual absl::StatusOr<std::unique_ptr<WritableFile>>
  OpenForAppend(absl::string_view path) = 0;

  // Cuts the file to its first `size` bytes, e.g. before a torn tail.
  [[nodiscard]] virtual absl::Status Truncate(absl::string_view path,
                                              int64_t size) = 0;

  // False only when there is nothing of that name; other errors are errors.
  [[nodiscard]] virtual absl::StatusOr<bool> Exists(absl::string_view path) = 0;

  // Entries in ascending order of name, without "." and "..".
  [[nodiscard]] virtual absl::StatusOr<std::vector<DirEntry>> List(
      absl::string_view dir) = 0;

  // Makes the folder and those above it. OK if it is there already.
  [[nodiscard]] virtual absl::Status CreateDirs(absl::string_view dir) = 0;

  // Removes one file, or one empty folder.
  [[nodiscard]] virtual absl::Status RemoveFile(absl::string_view path) = 0;
  [[nodiscard]] virtual absl::Status RemoveDir(absl::string_view dir) = 0;

  // Gives `from`, a file or folder, the name `to` in one step: nobody ever
  // sees neither or half. Replaces a file or an empty folder called `to`.
  [[nodiscard]] virtual absl::Status Rename(absl::string_view from,
                                            absl::string_view to) = 0;

  // Makes the names in `dir` (new, renamed, removed) durable.
  [[nodiscard]] virtual absl::Status SyncDir(absl::string_view dir) = 0;
};

// The whole content. RESOURCE_EXHAUSTED when it is longer than `bytes_max`,
// which keeps a wrong path from filling the memory.
[[nodiscard]] absl::StatusOr<std::string> ReadFile(FileEnv& env,
                                                   absl::string_view path,
                                                   int64_t bytes_max);

// Replaces the file's content: after a crash of the machine at any moment it
// is the old or the new content, never a mixture; after OK it is the new one.
// Writes `path` + ".tmp" first, so at most one writer per path.
[[nodiscard]] absl::Status WriteFileAtomically(FileEnv& env,
                                               absl::string_view path,
                                               absl::string_view bytes);

// CreateDirs, then SyncDir of every folder that got a new entry.
[[nodiscard]] absl::Status CreateDirsDurably(FileEnv& env,
                                             absl::string_view dir);

// Rename, then SyncDir of the folders of both names.
[[nodiscard]] absl::Status RenameDurably(FileEnv& env, absl::string_view from,
                                         absl::string_view to);

// Removes a folder with all in it. OK if it does not exist.
[[nodiscard]] absl::Status RemoveTree(FileEnv& env, absl::string_view dir);

// "a" and "b" give "a/b"; an empty or absolute second part stands alone.
std::string JoinPath(absl::string_view dir, absl::string_view name);
// "a/b" gives "a" and "b"; "b" gives "." and "b"; "/b" gives "/" and "b".
absl::string_view DirName(absl::string_view path);
absl::string_view BaseName(absl::string_view path);

// For implementations: the status of a failed call. `action` completes the
// sentence "cannot …", `error` is an errno value.
absl::Status FileError(absl::string_view action, absl::string_view path,
                       int error);

}  // namespace selari

#endif  // SELARI_COMMON_FILE_ENV_H_
