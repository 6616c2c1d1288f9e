// SharedMemory: memory that a process lends to another one of the same machine,
// so that tensors pass between them without a copy by the kernel.
//
// The lender makes it and sends its offer over the connection that both have;
// the borrower opens the offer, or finds that it cannot (another machine,
// another container, another user) and refuses. Nothing has a name in the file
// system, so a killed process leaves nothing behind.
//
// Both can write all of it: whoever lends it trusts the borrower with these
// bytes, and with nothing else. The borrower trusts nothing that it finds there
// and cannot be made to map anything else: what an offer names must be sealed
// against shrinking and live in tmpfs, which is what memfd_create(2) gives, and
// begin with a word of ours and the offer's cookie.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_COMMON_SHARED_MEMORY_H_
#define SELARI_COMMON_SHARED_MEMORY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace selari {

// How a lender tells another process about its memory.
struct SharedMemoryOffer {
  int32_t process_id = 0;
  int32_t descriptor = -1;  // in that process
  int64_t bytes = 0;
  std::string cookie;  // 16 random bytes
};

class SharedMemory {
 public:
  // The first page holds a fixed word and the cookie.
  static constexpr int64_t kHeaderBytes = 4096;
  static constexpr int64_t kBytesMax = int64_t{1} << 44;

  // Lends `bytes`, rounded up to pages, in (kHeaderBytes, kBytesMax]. Takes no
  // memory until it is written. UNAVAILABLE where the system has no such
  // memory.
  static absl::StatusOr<std::shared_ptr<SharedMemory>> Lend(int64_t bytes);
  // All that one process may have borrowed at a time: a part of its addresses.
  static constexpr int64_t kBorrowedBytesMax = int64_t{1} << 45;
  // Maps what another process lends, if it is at most `bytes_max`. UNAVAILABLE
  // when this process cannot reach it or has borrowed too much,
  // INVALID_ARGUMENT for an offer that is wrong.
  static absl::StatusOr<std::shared_ptr<SharedMemory>> Borrow(
      const SharedMemoryOffer& offer, int64_t bytes_max = kBytesMax);
  // What a worker lends for a model of so many floats: addresses, not memory.
  // Room for the weights, for gradients of several tree nodes and steps, and
  // for what broken connections left behind.
  static int64_t BytesForModel(int64_t floats);

  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  const SharedMemoryOffer& offer() const { return offer_; }

  // Where [data, data + bytes) lies, for the other process; nothing when it is
  // not within this memory.
  std::optional<int64_t> OffsetOf(const void* data, int64_t bytes) const;
  // The memory that the other process means. INVALID_ARGUMENT, with the
  // numbers, unless it is a positive number of whole floats past the header.
  absl::StatusOr<float*> At(int64_t offset, int64_t bytes) const;

 private:
  SharedMemory(SharedMemoryOffer offer, int file, char* data)
      : offer_(std::move(offer)), file_(file), data_(data) {}

  const SharedMemoryOffer offer_;
  const int file_;  // -1 at the borrower
  char* const data_;
};

}  // namespace selari

#endif  // SELARI_COMMON_SHARED_MEMORY_H_
