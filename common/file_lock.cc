#include "common/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/file_env.h"

namespace selari {
namespace {

// The process id that the holder wrote, for people; empty if unreadable.
std::string HolderOf(int descriptor) {
  char text[32];
  const ssize_t size = ::pread(descriptor, text, sizeof(text), 0);
  if (size <= 0) {
    return "";
  }
  const absl::string_view id = absl::StripAsciiWhitespace(
      absl::string_view(text, static_cast<size_t>(size)));
  return absl::StrCat(" (process ", id, ")");
}

// Only a hint for people, so a full disk must not refuse the lock.
void WriteHolder(int descriptor) {
  const std::string text = absl::StrCat(::getpid(), "\n");
  if (::ftruncate(descriptor, 0) == 0) {
    const ssize_t written = ::pwrite(descriptor, text.data(), text.size(), 0);
    static_cast<void>(written);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileLock>> FileLock::Acquire(
    absl::string_view path) {
  const std::string name(path);
  const int descriptor =
      ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return FileError("open", path, errno);
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::string holder = HolderOf(descriptor);
    ::close(descriptor);
    if (error == EWOULDBLOCK) {
      return absl::AlreadyExistsError(absl::StrCat(
          "another process", holder, " holds ", path,
          "; wait until it ends, or choose another output folder"));
    }
    return FileError("lock", path, error);
  }
  WriteHolder(descriptor);
  return std::unique_ptr<FileLock>(new FileLock(descriptor));
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace selari
