#include "worker/data/npy.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Npy(int version, absl::string_view dictionary,
                absl::string_view elements) {
  std::string bytes = "\x93NUMPY";
  bytes.push_back(static_cast<char>(version));
  bytes.push_back('\0');
  const std::size_t length = dictionary.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes.push_back(static_cast<char>(length >> (8 * i)));
  }
  return absl::StrCat(bytes, dictionary, elements);
}

std::string Message(const std::string& bytes) {
  return std::string(ParseNpy("a.npy", bytes).status().message());
}

constexpr absl::string_view kTwoByThree =
    "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }   \n";

TEST(NpyTest, ReadsVersionsOneToThree) {
  for (const int version : {1, 2, 3}) {
    const auto array = ParseNpy("a.npy", Npy(version, kTwoByThree, "abcdef"));
    ASSERT_TRUE(array.ok()) << array.status();
    EXPECT_THAT(array->shape, ElementsAre(2, 3));
    EXPECT_EQ(array->bytes.substr(array->elements_begin), "abcdef");
  }
}

TEST(NpyTest, ReadsTypeAndByteOrder) {
  const auto array = ParseNpy(
      "a.npy", Npy(1, "{'descr': '>f8', 'fortran_order': False, 'shape': (1,)}",
                   "12345678"));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_EQ(array->type, EncodedType::kFloat64);
  EXPECT_TRUE(array->big_endian);
}

TEST(NpyTest, ReadsAScalarsEmptyShape) {
  const auto array = ParseNpy(
      "a.npy",
      Npy(1, "{'descr':'<i4','fortran_order':False,'shape':()}", "1234"));
  ASSERT_TRUE(array.ok()) << array.status();
  EXPECT_THAT(array->shape, IsEmpty());
}

TEST(NpyTest, WhatAMessageRepeatsIsEscapedAndCut) {
  std::string extents;
  for (int i = 0; i < 5000; ++i) {
    extents += "6, ";
  }
  for (const std::string& header :
       {"{'descr': '<f4', 'fortran_order': False, 'shape': (" + extents + ")}",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (" + extents + ")}",
        "{'descr': '" + std::string(5000, '\x1b') +
            "', 'fortran_order': False, 'shape': (6,)}"}) {
    const std::string message = Message(Npy(1, header, ""));
    EXPECT_NE(message, "");
    EXPECT_LT(message.size(), 400u) << message;
    EXPECT_EQ(message.find('\x1b'), std::string::npos);
  }
}

TEST(NpyTest, RefusesFortranOrderWithTheWayOut) {
  EXPECT_THAT(
      Message(Npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}",
                  "")),
      HasSubstr("shape 2x3 is in Fortran order; save "
                "numpy.ascontiguousarray(a)"));
}

TEST(NpyTest, RefusesTypesItCannotRead) {
  EXPECT_THAT(
      Message(Npy(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}",
                  "12")),
      HasSubstr("NumPy element type '<f2' is not supported"));
  EXPECT_THAT(Message(Npy(1,
                          "{'descr': [('x', '<f4')], 'fortran_order': False, "
                          "'shape': (1,)}",
                          "1234")),
              HasSubstr("structured arrays and objects are not supported"));
}

TEST(NpyTest, EveryTruncationIsAnError) {
  const std::string whole = Npy(1, kTwoByThree, "abcdef");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(ParseNpy("a.npy", whole.substr(0, size)).ok()) << size;
  }
  EXPECT_THAT(Message(whole.substr(0, whole.size() - 1)),
              HasSubstr("expected 6 bytes after the header, has 5"));
}

TEST(NpyTest, RefusesADamagedDictionary) {
  for (const absl::string_view dictionary :
       {"", "{", "{'descr'", "{'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr':'<f4','fortran_order':False,'shape':(99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1"}) {
    EXPECT_FALSE(ParseNpy("a.npy", Npy(1, dictionary, "1234")).ok())
        << dictionary;
  }
}

}  // namespace
}  // namespace selari
