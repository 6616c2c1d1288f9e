#include "common/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr int64_t kBytes = 1 << 20;

absl::StatusCode BorrowCode(const SharedMemoryOffer& offer) {
  return SharedMemory::Borrow(offer).status().code();
}

TEST(SharedMemoryTest, AnotherProcessReadsAndWritesIt) {
  const auto lent = SharedMemory::Lend(kBytes);
  ASSERT_TRUE(lent.ok()) << lent.status();
  float* const mine = *(*lent)->At(8192, 8);
  mine[0] = 3;
  const pid_t child = fork();
  if (child == 0) {
    const auto borrowed = SharedMemory::Borrow((*lent)->offer());
    float* const theirs = borrowed.ok() ? *(*borrowed)->At(8192, 8) : nullptr;
    if (theirs == nullptr || theirs == mine || theirs[0] != 3) {
      _exit(1);
    }
    theirs[1] = 4;
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(mine[1], 4);
}

TEST(SharedMemoryTest, OutlivesTheLender) {
  auto lent = SharedMemory::Lend(kBytes);
  ASSERT_TRUE(lent.ok()) << lent.status();
  **(*lent)->At(4096, 4) = 7;
  const auto borrowed = SharedMemory::Borrow((*lent)->offer());
  ASSERT_TRUE(borrowed.ok()) << borrowed.status();
  lent->reset();
  EXPECT_EQ(**(*borrowed)->At(4096, 4), 7);
}

TEST(SharedMemoryTest, TranslatesPlacesWithinItOnly) {
  const auto memory = SharedMemory::Lend(kBytes);
  ASSERT_TRUE(memory.ok()) << memory.status();
  float* const first = *(*memory)->At(4096, 4);
  EXPECT_EQ((*memory)->OffsetOf(first, kBytes - 4096), 4096);
  EXPECT_EQ((*memory)->OffsetOf(first + 5, 4), 4116);
  EXPECT_FALSE((*memory)->OffsetOf(first, kBytes - 4095).has_value());
  EXPECT_FALSE((*memory)->OffsetOf(first - 1, 4).has_value());
  float elsewhere = 0;
  EXPECT_FALSE((*memory)->OffsetOf(&elsewhere, 4).has_value());
  EXPECT_FALSE((*memory)->OffsetOf(nullptr, 4).has_value());
  EXPECT_TRUE((*memory)->At(kBytes - 4, 4).ok());
  constexpr int64_t kMost = INT64_MAX;
  constexpr std::pair<int64_t, int64_t> kBad[] = {
      {0, 4},         {4092, 4},         {4096, 0},      {4096, -4},
      {4097, 4},      {4096, 6},         {kBytes, 4},    {kBytes - 4, 8},
      {-4, 4},        {4096, kMost - 3}, {kMost - 3, 4}, {kMost - 3, kMost - 3},
      {-4096, kBytes}};
  for (const auto& [offset, bytes] : kBad) {
    EXPECT_EQ((*memory)->At(offset, bytes).status().code(),
              absl::StatusCode::kInvalidArgument)
        << offset << " " << bytes;
  }
}

TEST(SharedMemoryTest, RefusesOffersThatNameNothing) {
  const auto memory = SharedMemory::Lend(kBytes);
  ASSERT_TRUE(memory.ok()) << memory.status();
  const SharedMemoryOffer good = (*memory)->offer();
  ASSERT_TRUE(SharedMemory::Borrow(good).ok());
  SharedMemoryOffer bad = good;
  bad.cookie[3] = static_cast<char>(bad.cookie[3] + 1);
  EXPECT_EQ(BorrowCode(bad), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.cookie.clear();
  EXPECT_EQ(BorrowCode(bad), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.bytes += 4096;
  EXPECT_EQ(BorrowCode(bad), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.bytes = INT64_MIN;
  EXPECT_EQ(BorrowCode(bad), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.descriptor = 1 << 20;
  EXPECT_EQ(BorrowCode(bad), absl::StatusCode::kUnavailable);
  bad = good;
  bad.process_id = 1 << 30;
  EXPECT_EQ(BorrowCode(bad), absl::StatusCode::kUnavailable);
}

// A client must not make a server map a file of its choice.
TEST(SharedMemoryTest, RefusesFilesThatCouldShrinkOrAreNoMemory) {
  SharedMemoryOffer offer;
  offer.process_id = getpid();
  offer.bytes = kBytes;
  offer.cookie = std::string(16, 'c');
  const std::string path = testing::TempDir() + "/a_file";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  const std::string head = "selari shared memory 1\n" + offer.cookie;
  const auto write_head = [&head](int to) {
    const auto bytes = static_cast<ssize_t>(head.size());
    return pwrite(to, head.data(), head.size(), 0) == bytes;
  };
  ASSERT_TRUE(write_head(file));
  offer.descriptor = file;
  EXPECT_EQ(BorrowCode(offer), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(unlink(path.c_str()), 0);
  EXPECT_EQ(BorrowCode(offer), absl::StatusCode::kInvalidArgument);
  const int unsealed = memfd_create("test", 0);
  ASSERT_EQ(ftruncate(unsealed, kBytes), 0);
  ASSERT_TRUE(write_head(unsealed));
  offer.descriptor = unsealed;
  EXPECT_EQ(BorrowCode(offer), absl::StatusCode::kInvalidArgument);
  ASSERT_EQ(fcntl(unsealed, F_GET_SEALS) & F_SEAL_SHRINK, 0);
  const int sealed = memfd_create("test", MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(sealed, kBytes), 0);
  ASSERT_EQ(fcntl(sealed, F_ADD_SEALS, F_SEAL_SHRINK), 0);
  offer.descriptor = sealed;
  const std::string zeros = offer.cookie;
  offer.cookie.assign(16, '\0');
  EXPECT_EQ(BorrowCode(offer), absl::StatusCode::kInvalidArgument)
      << "a cookie of zeros opens any fresh memory";
  offer.cookie = zeros;
  ASSERT_TRUE(write_head(sealed));
  EXPECT_EQ(BorrowCode(offer), absl::StatusCode::kOk) << "the check can pass";
  close(sealed);
  // Huge pages take seals too, but may not be there when they are touched.
  const int huge = memfd_create("test", MFD_ALLOW_SEALING | MFD_HUGETLB);
  constexpr int64_t kHugeBytes = 4 << 20;
  if (huge >= 0 && ftruncate(huge, kHugeBytes) == 0) {
    ASSERT_EQ(fcntl(huge, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    SharedMemoryOffer huge_offer = offer;
    huge_offer.descriptor = huge;
    huge_offer.bytes = kHugeBytes;
    EXPECT_EQ(BorrowCode(huge_offer), absl::StatusCode::kInvalidArgument);
    close(huge);
  }
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  offer.descriptor = pipe_ends[0];
  EXPECT_EQ(BorrowCode(offer), absl::StatusCode::kInvalidArgument);
  for (const int opened : {file, unsealed, pipe_ends[0], pipe_ends[1]}) {
    close(opened);
  }
}

TEST(SharedMemoryTest, ABorrowerTakesOnlySoMuch) {
  const auto memory = SharedMemory::Lend(kBytes);
  ASSERT_TRUE(memory.ok()) << memory.status();
  EXPECT_EQ(SharedMemory::Borrow((*memory)->offer(), kBytes - 4096)
                .status()
                .message(),
            "shared memory of 1048576 bytes is offered, at most 1044480 is "
            "taken");
  // Each is small enough, but all of them are not.
  const auto large = SharedMemory::Lend(SharedMemory::kBytesMax);
  if (!large.ok()) {  // as under ThreadSanitizer, which has few addresses
    GTEST_SKIP() << large.status();
  }
  std::vector<std::shared_ptr<SharedMemory>> borrowed;
  absl::Status end;
  while (end.ok()) {
    auto next = SharedMemory::Borrow((*large)->offer());
    end = next.status();
    if (next.ok()) {
      borrowed.push_back(*std::move(next));
    }
    ASSERT_LE(borrowed.size(), 2u);
  }
  EXPECT_TRUE(absl::IsUnavailable(end)) << end;
  borrowed.clear();
  EXPECT_TRUE(SharedMemory::Borrow((*memory)->offer()).ok());
}

}  // namespace
}  // namespace selari
