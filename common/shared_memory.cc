#include "common/shared_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr int64_t kPageBytes = 4096;
constexpr size_t kCookieBytes = 16;
constexpr char kWord[] = "selari shared memory 1\n";  // then the cookie
constexpr size_t kWordBytes = sizeof(kWord) - 1;

std::atomic<int64_t> borrowed_bytes{0};

int64_t WholePages(int64_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

absl::Status Unavailable(absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("shared memory: ", what, ": ", std::strerror(errno)));
}

// Closes a file unless it is taken.
class ScopedFile {
 public:
  explicit ScopedFile(int file) : file_(file) {}
  ~ScopedFile() {
    if (file_ >= 0) {
      close(file_);
    }
  }
  ScopedFile(const ScopedFile&) = delete;
  ScopedFile& operator=(const ScopedFile&) = delete;
  int get() const { return file_; }
  int Take() { return std::exchange(file_, -1); }

 private:
  int file_;
};

absl::StatusOr<char*> Map(int file, int64_t bytes) {
  void* const data =
      mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_NORESERVE, file, 0);
  if (data == MAP_FAILED) {
    return Unavailable(absl::StrCat("cannot map ", bytes, " bytes"));
  }
  return static_cast<char*>(data);
}

std::string NewCookie() {
  std::random_device random;
  std::string cookie;
  while (cookie.size() < kCookieBytes) {
    const auto word = static_cast<uint32_t>(random());
    cookie.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  return cookie;
}

absl::Status CheckOffer(const SharedMemoryOffer& offer) {
  if (offer.process_id > 0 && offer.descriptor >= 0 &&
      offer.bytes > SharedMemory::kHeaderBytes &&
      offer.bytes <= SharedMemory::kBytesMax && offer.bytes % kPageBytes == 0 &&
      offer.cookie.size() == kCookieBytes) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("an offer of shared memory names process ", offer.process_id,
                   ", descriptor ", offer.descriptor, ", ", offer.bytes,
                   " bytes and a cookie of ", offer.cookie.size(), " bytes"));
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedMemory>> SharedMemory::Lend(
    int64_t bytes) {
  SELARI_CHECK(bytes > kHeaderBytes && bytes <= kBytesMax);
  SharedMemoryOffer offer;
  offer.process_id = static_cast<int32_t>(getpid());
  offer.bytes = WholePages(bytes);
  offer.cookie = NewCookie();
  ScopedFile file(memfd_create("selari", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.get() < 0) {
    return Unavailable("memfd_create");
  }
  // A borrower reads without fear of SIGBUS: the file cannot get shorter.
  if (ftruncate(file.get(), offer.bytes) != 0 ||
      fcntl(file.get(), F_ADD_SEALS,
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return Unavailable(
        absl::StrCat("cannot set aside ", offer.bytes, " bytes"));
  }
  SELARI_ASSIGN_OR_RETURN(char* const data, Map(file.get(), offer.bytes));
  std::memcpy(data, kWord, kWordBytes);
  std::memcpy(data + kWordBytes, offer.cookie.data(), kCookieBytes);
  offer.descriptor = file.get();
  return std::shared_ptr<SharedMemory>(
      new SharedMemory(std::move(offer), file.Take(), data));
}

absl::StatusOr<std::shared_ptr<SharedMemory>> SharedMemory::Borrow(
    const SharedMemoryOffer& offer, int64_t bytes_max) {
  SELARI_RETURN_IF_ERROR(CheckOffer(offer));
  if (offer.bytes > bytes_max) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared memory of ", offer.bytes,
                     " bytes is offered, at most ", bytes_max, " is taken"));
  }
  const std::string path =
      absl::StrCat("/proc/", offer.process_id, "/fd/", offer.descriptor);
  struct stat info;
  // Not opened before it is known to be plain memory: to open a device or a
  // pipe does something.
  if (stat(path.c_str(), &info) != 0) {
    return Unavailable(path);
  }
  const auto wrong = [&path](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("shared memory: ", path, " ", why));
  };
  if (!S_ISREG(info.st_mode) || info.st_nlink != 0) {
    return wrong("is not what was offered");
  }
  const ScopedFile file(
      open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) {
    return Unavailable(path);
  }
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return wrong("is not sealed against shrinking");
  }
  // Huge pages may be promised and not there when they are touched.
  struct statfs system;
  if (fstatfs(file.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return wrong("is no plain memory");
  }
  if (fstat(file.get(), &info) != 0 || info.st_size != offer.bytes) {
    return wrong(absl::StrCat("has ", info.st_size, " bytes, not the ",
                              offer.bytes, " offered"));
  }
  char head[kWordBytes + kCookieBytes];
  if (pread(file.get(), head, sizeof(head), 0) !=
          static_cast<ssize_t>(sizeof(head)) ||
      std::memcmp(head, kWord, kWordBytes) != 0 ||
      std::memcmp(head + kWordBytes, offer.cookie.data(), kCookieBytes) != 0) {
    return wrong("is another process's");
  }
  if (borrowed_bytes.fetch_add(offer.bytes) > kBorrowedBytesMax - offer.bytes) {
    borrowed_bytes -= offer.bytes;
    return absl::UnavailableError(absl::StrCat("shared memory: over ",
                                               kBorrowedBytesMax,
                                               " bytes are borrowed already"));
  }
  const absl::StatusOr<char*> data = Map(file.get(), offer.bytes);
  if (!data.ok()) {
    borrowed_bytes -= offer.bytes;
    return data.status();
  }
  return std::shared_ptr<SharedMemory>(new SharedMemory(offer, -1, *data));
}

int64_t SharedMemory::BytesForModel(int64_t floats) {
  constexpr int64_t kModels = 16;
  constexpr int64_t kRest = int64_t{64} << 20;
  const int64_t model_bytes =
      std::min<int64_t>(floats, kBytesMax / 64) * int64_t{sizeof(float)};
  return std::min(WholePages(model_bytes * kModels + kRest), kBytesMax);
}

SharedMemory::~SharedMemory() {
  munmap(data_, static_cast<size_t>(offer_.bytes));
  if (file_ >= 0) {
    close(file_);
  } else {
    borrowed_bytes -= offer_.bytes;
  }
}

std::optional<int64_t> SharedMemory::OffsetOf(const void* data,
                                              int64_t bytes) const {
  const auto begin = reinterpret_cast<uintptr_t>(data_);
  const auto address = reinterpret_cast<uintptr_t>(data);
  if (address < begin + kHeaderBytes || bytes < 0 || bytes > offer_.bytes ||
      address - begin > static_cast<uintptr_t>(offer_.bytes - bytes)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(address - begin);
}

absl::StatusOr<float*> SharedMemory::At(int64_t offset, int64_t bytes) const {
  constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
  if (offset < kHeaderBytes || offset % kFloatBytes != 0 || bytes <= 0 ||
      bytes % kFloatBytes != 0 || bytes > offer_.bytes ||
      offset > offer_.bytes - bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes [", offset, ", +", bytes, ") are no floats in the ",
                     offer_.bytes, " bytes of shared memory"));
  }
  return reinterpret_cast<float*>(data_ + offset);
}

}  // namespace selari
