#include "common/crc32c.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

// The vectors of RFC 3720 (iSCSI), appendix B.4.
TEST(Crc32cTest, MatchesPublishedVectors) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising(32, '\0');
  for (std::size_t i = 0; i < rising.size(); ++i) {
    rising[i] = static_cast<char>(i);
  }
  EXPECT_EQ(Crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
}

TEST(Crc32cTest, PortableEqualsInstructionAtEveryLengthAndAlignment) {
  std::string bytes(80, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * 167 + 13);
  }
  for (std::size_t begin = 0; begin < 9; ++begin) {
    for (std::size_t size = 0; size <= 64; ++size) {
      const absl::string_view part(bytes.data() + begin, size);
      EXPECT_EQ(ExtendCrc32cPortableForTest(7, part), ExtendCrc32c(7, part));
    }
  }
}

TEST(Crc32cTest, PortableEqualsInstructionInLanes) {
  std::string bytes(20'000, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  // Around each multiple of the three lanes of 1024 bytes.
  for (std::size_t lanes = 1; lanes <= 6; ++lanes) {
    for (std::size_t more = 0; more < 20; ++more) {
      const absl::string_view part(bytes.data() + lanes + more,
                                   lanes * 3072 - 10 + more);
      EXPECT_EQ(ExtendCrc32cPortableForTest(9, part), ExtendCrc32c(9, part))
          << part.size();
    }
  }
}

TEST(Crc32cTest, ExtendEqualsWhole) {
  EXPECT_EQ(ExtendCrc32c(Crc32c("hello "), "world"), Crc32c("hello world"));
  EXPECT_EQ(ExtendCrc32c(5, ""), 5u);
}

TEST(Crc32cTest, UnmaskUndoesMask) {
  for (uint32_t crc : {0u, 1u, 0x8a9136aau, 0xffffffffu}) {
    EXPECT_NE(MaskCrc32c(crc), crc);
    EXPECT_EQ(UnmaskCrc32c(MaskCrc32c(crc)), crc);
  }
}

}  // namespace
}  // namespace selari
