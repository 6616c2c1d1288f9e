#include "worker/data/encoded_array.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

EncodedArray ArrayOf(std::vector<int64_t> shape, EncodedType type,
                     std::string bytes, bool big_endian = false) {
  EncodedArray array;
  array.source = "array.bin";
  array.shape = std::move(shape);
  array.type = type;
  array.bytes = std::move(bytes);
  array.big_endian = big_endian;
  return array;
}

std::string Message(const absl::Status& status) {
  return std::string(status.message());
}

std::vector<float> Floats(const EncodedArray& array) {
  const auto floats = ToFloats(array);
  EXPECT_TRUE(floats.ok()) << floats.status();
  return std::vector<float>((*floats)->data(),
                            (*floats)->data() + (*floats)->size());
}

TEST(EncodedArrayTest, ReadsBothByteOrders) {
  const std::string little("\x02\x01\xff\xff", 4);
  const std::string big("\x01\x02\xff\xff", 4);
  EXPECT_THAT(Floats(ArrayOf({2}, EncodedType::kInt16, little)),
              ElementsAre(258, -1));
  EXPECT_THAT(Floats(ArrayOf({2}, EncodedType::kInt16, big, true)),
              ElementsAre(258, -1));
}

TEST(EncodedArrayTest, NamesRowAndColumnOfNaN) {
  // A quiet NaN as element 3 of a (2, 2) array.
  std::string bytes(12, '\0');
  bytes += std::string("\x00\x00\xc0\x7f", 4);
  const EncodedArray array = ArrayOf({2, 2}, EncodedType::kFloat32, bytes);
  EXPECT_THAT(Message(ToFloats(array).status()),
              HasSubstr("array.bin: row 1, column 1 is NaN"));
}

TEST(EncodedArrayTest, RefusesInfinityAndDoublesPastFloat) {
  const std::string infinite("\x00\x00\x00\x00\x00\x00\xf0\x7f", 8);
  const std::string huge("\x00\x00\x00\x00\x00\x00\xe0\x7f", 8);
  EXPECT_THAT(
      Message(ToFloats(ArrayOf({1}, EncodedType::kFloat64, infinite)).status()),
      HasSubstr("infinite"));
  EXPECT_THAT(
      Message(ToFloats(ArrayOf({1}, EncodedType::kFloat64, huge)).status()),
      HasSubstr("too large"));
}

TEST(EncodedArrayTest, NamesTheRowOfABadLabel) {
  EXPECT_THAT(Message(ToLabels(ArrayOf({2}, EncodedType::kInt8,
                                       std::string("\x01\xff", 2)))
                          .status()),
              HasSubstr("label of row 1 is -1"));
  // 0.5 as float.
  EXPECT_THAT(Message(ToLabels(ArrayOf({1}, EncodedType::kFloat32,
                                       std::string("\x00\x00\x00\x3f", 4)))
                          .status()),
              HasSubstr("label of row 0 is 0.5"));
}

TEST(EncodedArrayTest, TakesLabelsAsVectorOrColumnOnly) {
  const std::string bytes("\x01\x00\x03", 3);
  const auto column = ToLabels(ArrayOf({3, 1}, EncodedType::kUint8, bytes));
  ASSERT_TRUE(column.ok());
  EXPECT_THAT(*column, ElementsAre(1, 0, 3));
  EXPECT_THAT(
      Message(ToLabels(ArrayOf({1, 3}, EncodedType::kUint8, bytes)).status()),
      HasSubstr("labels have shape 1x3"));
}

TEST(EncodedArrayTest, CountsBothLengthsOfATruncatedFile) {
  const EncodedArray array =
      ArrayOf({10, 4}, EncodedType::kFloat32, std::string(159, '\0'));
  EXPECT_THAT(Message(CheckLength(array, "IDX")),
              HasSubstr("expected 160 bytes after the header, has 159; the "
                        "file is truncated"));
}

TEST(EncodedArrayTest, RefusesAShapePastAnyMemory) {
  const EncodedArray array =
      ArrayOf({int64_t{1} << 40, int64_t{1} << 40}, EncodedType::kUint8, "");
  EXPECT_EQ(CheckLength(array, "IDX").code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace selari
