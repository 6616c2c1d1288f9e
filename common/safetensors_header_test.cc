#include "common/safetensors_header.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

// The parsed header, or the error's message.
std::string ParseError(absl::string_view json, int64_t data_bytes) {
  const auto header = ParseSafetensorsHeader(json, data_bytes);
  EXPECT_TRUE(header.ok() || absl::IsDataLoss(header.status()));
  return header.ok() ? "" : std::string(header.status().message());
}

struct BadCase {
  absl::string_view json;
  absl::string_view message;
};

TEST(SafetensorsHeaderTest, EveryDefectIsRefusedByName) {
  constexpr BadCase kCases[] = {
      {"", "is no JSON object"},
      {"[]", "is no JSON object"},
      {" {}", "is no JSON object"},
      {"{", "is no JSON object"},
      {"{} x", "is no JSON object"},
      {"{\"a\":\"\xff\"}", "is no JSON object"},
      {R"({"a":1})", "\"a\" is no object of"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "\"a\" is no object of"},
      {R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})",
       "\"a\" is no object of"},
      {R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})",
       "unknown dtype \"F33\""},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "extent"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "extent"},
      {R"({"a":{"dtype":"F32","shape":[9223372036854775808],)"
       R"("data_offsets":[0,8]}})",
       "extent"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],)"
       R"("data_offsets":[0,8]}})",
       "do not fit its shape"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})",
       "do not fit its shape"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
       "impossible data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,16]}})",
       "is no object of"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "starts at data byte 4 where 0 is expected"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
       R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "\"b\" starts at data byte 4 where 8 is expected"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
       "the tensors have 4 bytes, the file has 8"},
      {R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})",
       "the tensors have 16 bytes, the file has 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
       R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
       "a name stands twice"},
      {R"({"a":{"dtype":"F32","shape":[2],"shape":[2],)"
       R"("data_offsets":[0,8]}})",
       "a name stands twice"},
      {R"({"__metadata__":{"x":1}})", "__metadata__ is no object of strings"},
      {R"({"__metadata__":[]})", "__metadata__ is no object of strings"},
  };
  for (const BadCase& bad : kCases) {
    const std::string message = ParseError(bad.json, 8);
    EXPECT_TRUE(absl::StrContains(message, bad.message))
        << bad.json << " gave: " << message;
  }
}

TEST(SafetensorsHeaderTest, DeepNestingDoesNotExhaustTheStack) {
  EXPECT_NE(ParseError("{\"a\":" + std::string(1000000, '['), 8), "");
}

TEST(SafetensorsHeaderTest, HostileSizesAreRefused) {
  const auto parse = [](absl::string_view prefix, int64_t file_bytes) {
    return ParseSafetensorsPrefix(prefix, file_bytes).status();
  };
  EXPECT_TRUE(absl::IsDataLoss(parse("", 0)));
  EXPECT_TRUE(absl::IsDataLoss(parse("1234567", 7)));
  const absl::string_view all("\xff\xff\xff\xff\xff\xff\xff\xff",
                              8);  // 2^64 - 1
  EXPECT_TRUE(absl::IsDataLoss(parse(all, 1000)));
  const absl::string_view ten("\x0a\0\0\0\0\0\0\0", 8);
  EXPECT_TRUE(absl::IsDataLoss(parse(ten, 17)));
  EXPECT_EQ(*ParseSafetensorsPrefix(ten, 18), 10);
  const absl::string_view one("\x01\0\0\0\0\0\0\0", 8);
  EXPECT_TRUE(absl::IsDataLoss(parse(one, 100)));
  // 100,000,001 bytes, one over the limit, in a file that has room.
  const absl::string_view over("\x01\xe1\xf5\x05\0\0\0\0", 8);
  EXPECT_TRUE(absl::IsDataLoss(parse(over, int64_t{1} << 40)));
}

TEST(SafetensorsHeaderTest, BytesAreAsDocumented) {
  const auto header = BuildSafetensorsHeader(
      {{"w", ElementType::kF32, {2, 1}}, {"n\"\\", ElementType::kI64, {}}},
      {{"step", "3"}});
  ASSERT_TRUE(header.ok()) << header.status();
  const std::string json =
      R"({"__metadata__":{"step":"3"},)"
      R"("w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("n\"\\":{"dtype":"I64","shape":[],"data_offsets":[8,16]}})";
  const std::string padded = json + std::string(7 - (json.size() - 1) % 8, ' ');
  EXPECT_EQ(header->substr(8), padded);
  EXPECT_EQ(header->size() % 8, 0u);
  EXPECT_EQ(static_cast<std::size_t>(
                *ParseSafetensorsPrefix(header->substr(0, 8), 1000)),
            padded.size());
}

TEST(SafetensorsHeaderTest, ParsedIsWhatWasBuilt) {
  const std::vector<TensorDeclaration> tensors = {
      {"z", ElementType::kF64, {3}},
      {"empty", ElementType::kF32, {0, 5}},
      {"a", ElementType::kBF16, {2, 2, 2}},
      {"scalar", ElementType::kU8, {}},
  };
  const std::map<std::string, std::string> metadata = {{"k", "[1,\"x\"]"},
                                                       {"l", ""}};
  const auto bytes = BuildSafetensorsHeader(tensors, metadata);
  ASSERT_TRUE(bytes.ok());
  const auto header = ParseSafetensorsHeader(bytes->substr(8), 24 + 16 + 1);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->metadata, metadata);
  ASSERT_EQ(header->entries.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(header->entries[i].tensor.name, tensors[i].name);
    EXPECT_EQ(header->entries[i].tensor.type, tensors[i].type);
    EXPECT_EQ(header->entries[i].tensor.shape, tensors[i].shape);
  }
  EXPECT_EQ(header->entries[2].begin, 24);
  EXPECT_EQ(header->entries[2].end, 40);
}

TEST(SafetensorsHeaderTest, WhatCannotBeWrittenIsRefused) {
  const auto code = [](const std::vector<TensorDeclaration>& tensors) {
    return BuildSafetensorsHeader(tensors, {}).status().code();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({{"a", ElementType::kF32, {-1}}}), invalid);
  EXPECT_EQ(code({{"a", ElementType::kF32, {int64_t{1} << 61}}}), invalid);
  EXPECT_EQ(code({{"a", ElementType::kF32, {1}}, {"a", ElementType::kF32, {}}}),
            invalid);
  EXPECT_EQ(code({{"__metadata__", ElementType::kF32, {1}}}), invalid);
  EXPECT_EQ(code({{"new\nline", ElementType::kF32, {1}}}), invalid);
  EXPECT_EQ(code({{"\xc3\xa4", ElementType::kF32, {1}}}), invalid);
  EXPECT_EQ(code({}), absl::StatusCode::kOk);
}

TEST(ElementTypeTest, NamesAndSizesAgree) {
  EXPECT_EQ(ElementBytes(ElementType::kF32), 4);
  EXPECT_EQ(ElementBytes(ElementType::kBF16), 2);
  EXPECT_EQ(ElementTypeName(ElementType::kI64), "I64");
  EXPECT_EQ(FindElementType("F8_E4M3"), ElementType::kF8E4M3);
  EXPECT_EQ(FindElementType("f32"), std::nullopt);
  for (int i = 0; i <= static_cast<int>(ElementType::kF64); ++i) {
    const auto type = static_cast<ElementType>(i);
    EXPECT_EQ(FindElementType(ElementTypeName(type)), type);
  }
}

}  // namespace
}  // namespace selari
