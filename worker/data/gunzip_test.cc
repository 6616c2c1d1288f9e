#include "worker/data/gunzip.h"

#include <zlib.h>

#include <string>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

std::string Gzip(absl::string_view text) {
  z_stream stream = {};
  EXPECT_EQ(
      deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY),
      Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(&packed[0]);
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string LongText() {
  std::string text;
  for (int i = 0; i < 200000; ++i) {
    text += std::to_string(i);
  }
  return text;
}

TEST(GunzipTest, UnpacksMembersInOrder) {
  const std::string text = LongText();
  const auto unpacked =
      MaybeGunzip("f.gz", Gzip(text) + Gzip("end"), 100 << 20);
  ASSERT_TRUE(unpacked.ok()) << unpacked.status();
  EXPECT_EQ(*unpacked, text + "end");
}

TEST(GunzipTest, LeavesOtherBytesAlone) {
  EXPECT_EQ(MaybeGunzip("f", "plain", 100).value(), "plain");
  EXPECT_EQ(MaybeGunzip("f", "", 100).value(), "");
}

TEST(GunzipTest, SaysThatAFileIsTruncated) {
  const std::string packed = Gzip("some text");
  for (std::size_t size = 2; size < packed.size(); ++size) {
    const auto unpacked = MaybeGunzip("f.gz", packed.substr(0, size), 100);
    EXPECT_THAT(std::string(unpacked.status().message()),
                HasSubstr("f.gz: gzip data ends early after"))
        << size;
  }
}

TEST(GunzipTest, ChecksTheChecksum) {
  std::string packed = Gzip("some text");
  packed[packed.size() - 8] = static_cast<char>(packed[packed.size() - 8] ^ 1);
  EXPECT_THAT(std::string(MaybeGunzip("f.gz", packed, 100).status().message()),
              HasSubstr("gzip data is damaged (incorrect data check)"));
}

TEST(GunzipTest, StopsAtTheLimit) {
  EXPECT_THAT(
      std::string(
          MaybeGunzip("f.gz", Gzip(LongText()), 1000).status().message()),
      HasSubstr("unpacks to more than 1000 bytes"));
}

}  // namespace
}  // namespace selari
