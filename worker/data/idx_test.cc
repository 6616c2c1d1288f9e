#include "worker/data/idx.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Two images of 1 x 3 bytes.
std::string TwoImages() {
  return std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03", 16) +
         "abcdef";
}

TEST(IdxTest, ReadsShapeTypeAndElements) {
  const auto array = ParseIdx("images", TwoImages());
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(array->type, EncodedType::kUint8);
  EXPECT_TRUE(array->big_endian);
  EXPECT_EQ(array->bytes.substr(array->elements_begin), "abcdef");
}

TEST(IdxTest, EveryTruncationIsAnError) {
  const std::string whole = TwoImages();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseIdx("images", whole.substr(0, size)).ok()) << size;
  }
  EXPECT_FALSE(ParseIdx("images", whole + "g").ok());
}

TEST(IdxTest, SaysWhatIsMissing) {
  EXPECT_THAT(
      std::string(
          ParseIdx("images", TwoImages().substr(0, 20)).status().message()),
      HasSubstr("images: IDX header says 2x1x3 uint8, expected 6 "
                "bytes after the header, has 4"));
}

TEST(IdxTest, RefusesOtherFormats) {
  EXPECT_THAT(std::string(ParseIdx("x.png", "\x89PNG....").status().message()),
              HasSubstr("x.png: starts with bytes 137 80 78"));
}

}  // namespace
}  // namespace selari
