#include "common/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/file_env.h"
#include "common/stop_token.h"

namespace selari {
namespace {

// FileLock::Find has the lock for a moment: tries until it has let go.
constexpr int kTriesMax = 6;
constexpr int64_t kBetweenTriesMs = 10;

// The process id that the holder wrote, for people; empty if unreadable.
std::string HolderOf(int descriptor) {
  char text[32];
  const ssize_t size = ::pread(descriptor, text, sizeof(text), 0);
  if (size <= 0) {
    return "";
  }
  return std::string(absl::StripAsciiWhitespace(
      absl::string_view(text, static_cast<size_t>(size))));
}

// 0, or the error of the last try.
int LockExclusively(int descriptor) {
  const StopToken never;
  for (int tries = 1;; ++tries) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      return 0;
    }
    if (errno != EWOULDBLOCK || tries == kTriesMax) {
      return errno;
    }
    never.WaitForMs(kBetweenTriesMs);
  }
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
  const int error = LockExclusively(descriptor);
  if (error != 0) {
    const std::string holder = HolderOf(descriptor);
    ::close(descriptor);
    if (error == EWOULDBLOCK) {
      return HeldError(path, holder);
    }
    return FileError("lock", path, error);
  }
  WriteHolder(descriptor);
  return std::unique_ptr<FileLock>(new FileLock(descriptor));
}

absl::Status FileLock::HeldError(absl::string_view path,
                                 absl::string_view process) {
  return absl::AlreadyExistsError(absl::StrCat(
      "another process",
      process.empty() ? "" : absl::StrCat(" (process ", process, ")"),
      " holds ", path,
      "; wait until it ends, or choose another output folder"));
}

absl::StatusOr<FileLock::Holder> FileLock::Find(absl::string_view path) {
  const std::string name(path);
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return errno == ENOENT ? absl::StatusOr<Holder>(Holder())
                           : FileError("open", path, errno);
  }
  Holder holder;
  // Shared, so that two who ask do not take each other for the owner.
  const int error = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
  if (error == EWOULDBLOCK) {
    holder.held = true;
    holder.process = HolderOf(descriptor);
  }
  ::close(descriptor);
  if (error != 0 && !holder.held) {
    return FileError("lock", path, error);
  }
  return holder;
}

FileLock::~FileLock() { ::close(descriptor_); }

}  // namespace selari
