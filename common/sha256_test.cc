#include "common/sha256.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

// The vectors of FIPS 180-2, appendix B.
TEST(Sha256Test, MatchesPublishedVectors) {
  EXPECT_EQ(Sha256Hex(""),
            "e3b0c44298fc1c149afbf4c8996fb924"
            "27ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"),
            "ba7816bf8f01cfea414140de5dae2223"
            "b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67"
            "f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, StreamEqualsWhole) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("");
  hash.Update("bc");
  EXPECT_EQ(hash.FinishHex(), Sha256Hex("abc"));
}

TEST(Sha256Test, Int64IsLittleEndian) {
  Sha256 hash;
  hash.UpdateInt64(0x0102);
  hash.UpdateInt64(-1);
  EXPECT_EQ(hash.FinishHex(),
            Sha256Hex(absl::string_view("\x02\x01\0\0\0\0\0\0"
                                        "\xff\xff\xff\xff\xff\xff\xff\xff",
                                        16)));
}

TEST(Sha256DeathTest, UpdateAfterFinishIsABug) {
  Sha256 hash;
  hash.Finish();
  EXPECT_DEATH(hash.Update("a"), "broken invariant");
}

}  // namespace
}  // namespace selari
