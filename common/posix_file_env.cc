#include "common/posix_file_env.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/check.h"
#include "common/file_env.h"
#include "common/status.h"

namespace selari {
namespace {

// Repeats a call that a signal cut short.
template <class Call>
auto RetryInterrupted(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) {
    result = call();
  }
  return result;
}

// An open file descriptor, closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { Close(); }

  int get() const { return fd_; }

  // The errno of close, 0 when it went well. Linux closes even then, so close
  // is never repeated.
  int Close() {
    const int fd = std::exchange(fd_, -1);
    return fd == -1 || ::close(fd) == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

absl::StatusOr<Descriptor> Open(absl::string_view action,
                                absl::string_view path, int flags) {
  const std::string name(path);
  Descriptor descriptor(RetryInterrupted(
      [&] { return ::open(name.c_str(), flags | O_CLOEXEC, 0666); }));
  if (descriptor.get() == -1) {
    return FileError(action, path, errno);
  }
  return descriptor;
}

// What a file that is neither regular nor a folder is called.
absl::string_view KindName(mode_t mode) {
  return S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

// The size of an open file, which must be a regular one: a pipe or a device
// would block, or never end. `action` as for FileError.
absl::StatusOr<int64_t> RegularSize(absl::string_view action,
                                    const Descriptor& descriptor,
                                    absl::string_view path) {
  struct stat info;
  if (::fstat(descriptor.get(), &info) != 0) {
    return FileError("look at", path, errno);
  }
  if (S_ISDIR(info.st_mode)) {
    return FileError(action, path, EISDIR);
  }
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot ", action, " \"", path, "\": it is ",
                     KindName(info.st_mode), "; name a regular file"));
  }
  return static_cast<int64_t>(info.st_size);
}

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(absl::string_view path, Descriptor descriptor, int64_t size)
      : path_(path), descriptor_(std::move(descriptor)), size_(size) {}

  absl::Status ReadAt(int64_t offset, absl::Span<char> out) const override {
    SELARI_CHECK(offset >= 0);
    const int64_t begin = offset;
    while (!out.empty()) {
      const ssize_t got = RetryInterrupted([&] {
        return ::pread(descriptor_.get(), out.data(), out.size(), offset);
      });
      if (got == -1) {
        return FileError("read", path_, errno);
      }
      if (got == 0) {
        return absl::DataLossError(absl::StrCat(
            "\"", path_, "\" is truncated: it ends at byte ", offset,
            ", a read from ", begin, " wants ", out.size(), " more"));
      }
      out.remove_prefix(static_cast<std::size_t>(got));
      offset += got;
    }
    return absl::OkStatus();
  }

  int64_t size() const override { return size_; }

 private:
  const std::string path_;
  const Descriptor descriptor_;
  const int64_t size_;
};

class PosixMappedFile final : public MappedFile {
 public:
  PosixMappedFile(void* base, std::size_t size) : base_(base), size_(size) {}
  ~PosixMappedFile() override {
    if (base_ != nullptr) {
      ::munmap(base_, size_);
    }
  }
  PosixMappedFile(const PosixMappedFile&) = delete;
  PosixMappedFile& operator=(const PosixMappedFile&) = delete;

  absl::string_view bytes() const override {
    return absl::string_view(static_cast<const char*>(base_), size_);
  }

 private:
  void* const base_;
  const std::size_t size_;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(absl::string_view path, Descriptor descriptor)
      : path_(path), descriptor_(std::move(descriptor)) {}

  absl::Status Append(absl::string_view bytes) override {
    SELARI_RETURN_IF_ERROR(status_);
    while (!bytes.empty()) {
      const ssize_t put = RetryInterrupted([&] {
        return ::write(descriptor_.get(), bytes.data(), bytes.size());
      });
      if (put == -1) {
        return Fail("write", errno);
      }
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return absl::OkStatus();
  }

  void StartWriting() override {
    // What fails here, Sync reports.
    (void)::sync_file_range(descriptor_.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }

  void ForgetWritten() override {
    (void)::posix_fadvise(descriptor_.get(), 0, 0, POSIX_FADV_DONTNEED);
  }

  absl::Status Sync() override {
    SELARI_RETURN_IF_ERROR(status_);
    if (RetryInterrupted([&] { return ::fdatasync(descriptor_.get()); }) != 0) {
      return Fail("sync", errno);
    }
    return absl::OkStatus();
  }

  absl::Status Close() override {
    const int error = descriptor_.Close();
    SELARI_RETURN_IF_ERROR(status_);
    return error == 0 ? absl::OkStatus() : Fail("close", error);
  }

 private:
  absl::Status Fail(absl::string_view action, int error) {
    status_ = FileError(action, path_, error);
    return status_;
  }

  const std::string path_;
  Descriptor descriptor_;
  absl::Status status_;  // The first failure.
};

absl::StatusOr<std::unique_ptr<WritableFile>> OpenWritable(
    absl::string_view path, int flags) {
  constexpr absl::string_view kAction = "open for writing";
  // O_NONBLOCK as in OpenForRead.
  SELARI_ASSIGN_OR_RETURN(
      Descriptor descriptor,
      Open(kAction, path, O_WRONLY | O_CREAT | O_NONBLOCK | flags));
  SELARI_RETURN_IF_ERROR(RegularSize(kAction, descriptor, path).status());
  return std::make_unique<PosixWritableFile>(path, std::move(descriptor));
}

absl::Status CreateDir(const std::string& dir) {
  if (::mkdir(dir.c_str(), 0777) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  struct stat info;
  if (error == EEXIST && ::stat(dir.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return absl::OkStatus();
    }
    return FileError("create folder", dir, ENOTDIR);
  }
  return FileError("create folder", dir, error);
}

bool IsDirectory(DIR* stream, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) {
    return entry.d_type == DT_DIR;
  }
  struct stat info;
  return ::fstatat(::dirfd(stream), entry.d_name, &info, AT_SYMLINK_NOFOLLOW) ==
             0 &&
         S_ISDIR(info.st_mode);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ReadableFile>> PosixFileEnv::OpenForRead(
    absl::string_view path) {
  // O_NONBLOCK: opening a pipe that nobody writes must not hang; a regular
  // file ignores it.
  SELARI_ASSIGN_OR_RETURN(Descriptor descriptor,
                          Open("open", path, O_RDONLY | O_NONBLOCK));
  SELARI_ASSIGN_OR_RETURN(const int64_t size,
                          RegularSize("read", descriptor, path));
  return std::make_unique<PosixReadableFile>(path, std::move(descriptor), size);
}

absl::StatusOr<std::unique_ptr<MappedFile>> PosixFileEnv::Map(
    absl::string_view path) {
  SELARI_ASSIGN_OR_RETURN(Descriptor descriptor,
                          Open("open", path, O_RDONLY | O_NONBLOCK));
  SELARI_ASSIGN_OR_RETURN(const int64_t size,
                          RegularSize("read", descriptor, path));
  if (size == 0) {  // mmap refuses an empty range.
    return std::make_unique<PosixMappedFile>(nullptr, 0);
  }
  const auto length = static_cast<std::size_t>(size);
  void* const base =
      ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
  if (base == MAP_FAILED) {
    return FileError("map", path, errno);
  }
  return std::make_unique<PosixMappedFile>(base, length);
}

absl::StatusOr<std::unique_ptr<WritableFile>> PosixFileEnv::OpenForWrite(
    absl::string_view path) {
  return OpenWritable(path, O_TRUNC);
}

absl::StatusOr<std::unique_ptr<WritableFile>> PosixFileEnv::OpenNew(
    absl::string_view path) {
  return OpenWritable(path, O_EXCL);
}

absl::StatusOr<std::unique_ptr<WritableFile>> PosixFileEnv::OpenForAppend(
    absl::string_view path) {
  return OpenWritable(path, O_APPEND);
}

absl::Status PosixFileEnv::Truncate(absl::string_view path, int64_t size) {
  const std::string name(path);
  if (RetryInterrupted([&] { return ::truncate(name.c_str(), size); }) != 0) {
    return FileError("truncate", path, errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> PosixFileEnv::Exists(absl::string_view path) {
  struct stat info;
  if (::lstat(std::string(path).c_str(), &info) == 0) {
    return true;
  }
  if (errno == ENOENT || errno == ENOTDIR) {
    return false;
  }
  return FileError("look at", path, errno);
}

absl::StatusOr<std::vector<DirEntry>> PosixFileEnv::List(
    absl::string_view dir) {
  DIR* const stream = ::opendir(std::string(dir).c_str());
  if (stream == nullptr) {
    return FileError("list folder", dir, errno);
  }
  std::vector<DirEntry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(stream)) {
    const absl::string_view name = entry->d_name;
    if (name != "." && name != "..") {
      entries.push_back({std::string(name), IsDirectory(stream, *entry)});
    }
    errno = 0;
  }
  const int error = errno;
  ::closedir(stream);
  if (error != 0) {
    return FileError("list folder", dir, error);
  }
  std::sort(
      entries.begin(), entries.end(),
      [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

absl::Status PosixFileEnv::CreateDirs(absl::string_view dir) {
  // From the top down; "/" and "." are there.
  for (std::size_t slash = dir.find('/', 1); slash != absl::string_view::npos;
       slash = dir.find('/', slash + 1)) {
    SELARI_RETURN_IF_ERROR(CreateDir(std::string(dir.substr(0, slash))));
  }
  return CreateDir(std::string(dir));
}

absl::Status PosixFileEnv::RemoveFile(absl::string_view path) {
  if (::unlink(std::string(path).c_str()) != 0) {
    return FileError("remove", path, errno);
  }
  return absl::OkStatus();
}

absl::Status PosixFileEnv::RemoveDir(absl::string_view dir) {
  if (::rmdir(std::string(dir).c_str()) != 0) {
    return FileError("remove folder", dir, errno);
  }
  return absl::OkStatus();
}

absl::Status PosixFileEnv::Rename(absl::string_view from,
                                  absl::string_view to) {
  if (::rename(std::string(from).c_str(), std::string(to).c_str()) != 0) {
    return FileError(absl::StrCat("rename \"", from, "\" to"), to, errno);
  }
  return absl::OkStatus();
}

absl::Status PosixFileEnv::SyncDir(absl::string_view dir) {
  SELARI_ASSIGN_OR_RETURN(Descriptor descriptor,
                          Open("open folder", dir, O_RDONLY | O_DIRECTORY));
  if (RetryInterrupted([&] { return ::fsync(descriptor.get()); }) != 0) {
    return FileError("sync folder", dir, errno);
  }
  return absl::OkStatus();
}

}  // namespace selari
