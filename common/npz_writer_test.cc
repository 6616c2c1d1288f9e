// Bytes and errors; that NumPy reads the files is //tests/integration's to
// show.

#include "common/npz_writer.h"

#include <zlib.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/tensor_file.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

const std::vector<TensorDeclaration>& Tensors() {
  static const auto* const kTensors = new std::vector<TensorDeclaration>{
      {"none", ElementType::kF32, {0}},
      {"a", ElementType::kF32, {2}},
      {"b/c", ElementType::kU8, {3}},
      {"nothing", ElementType::kF32, {2, 0}},
  };
  return *kTensors;
}

absl::StatusOr<WrittenFile> WriteExample(FileEnv& env) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFileWriter> writer,
                          CreateNpzFile(env, "f", Tensors()));
  SELARI_RETURN_IF_ERROR(writer->Append("1234567"));
  SELARI_RETURN_IF_ERROR(writer->Append("8xyz"));
  return writer->Finish();
}

TEST(NpzWriterTest, EachFailingCallIsReported) {
  bool hit = true;
  for (int64_t call = 0; hit; ++call) {
    FaultFileEnv env;
    env.FailCall({.call = call, .error = ENOSPC});
    const auto file = WriteExample(env);
    hit = env.fault_hit();
    EXPECT_EQ(file.ok(), !hit) << call;
    EXPECT_TRUE(!hit || absl::IsResourceExhausted(file.status()));
  }
}

TEST(NpzWriterTest, WhatCannotBeWrittenIsRefused) {
  FaultFileEnv env;
  const auto code = [&env](const std::vector<TensorDeclaration>& tensors) {
    return CreateNpzFile(env, "f", tensors).status().code();
  };
  const auto invalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({{"a", ElementType::kBF16, {1}}}), invalid);
  EXPECT_EQ(code({{"", ElementType::kF32, {1}}}), invalid);
  EXPECT_EQ(code({{"a", ElementType::kF32, {-1}}}), invalid);
  EXPECT_EQ(code({{"a", ElementType::kF32, {1}}, {"a", ElementType::kF32, {}}}),
            invalid);
  EXPECT_EQ(code({{std::string(65001, 'a'), ElementType::kF32, {1}}}), invalid);
  EXPECT_FALSE(*env.Exists("f"));
  EXPECT_EQ(code({}), absl::StatusCode::kOk);
}

TEST(NpzWriterTest, NpyHeaderIsAsNumpyDefinesIt) {
  const auto header = BuildNpyHeader({"a", ElementType::kF32, {2, 3}});
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->size(), 128u);
  EXPECT_EQ(header->substr(0, 10),
            std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_TRUE(absl::StartsWith(
      header->substr(10),
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  "));
  EXPECT_EQ(header->back(), '\n');
  EXPECT_TRUE(absl::StrContains(*BuildNpyHeader({"a", ElementType::kI64, {7}}),
                                "'shape': (7,), }"));
  EXPECT_TRUE(absl::StrContains(*BuildNpyHeader({"a", ElementType::kF64, {}}),
                                "'descr': '<f8'"));
}

TEST(NpzWriterTest, FileIsAZipOfTheTensors) {
  FaultFileEnv env;
  const auto file = WriteExample(env);
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string bytes = *ReadFile(env, "f", 10000);
  EXPECT_EQ(file->size_bytes, static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(file->sha256, Sha256Hex(bytes));
  EXPECT_TRUE(absl::StartsWith(bytes, "PK\x03\x04"));
  // Content, then its checksum in the data descriptor.
  const std::string content =
      *BuildNpyHeader({"b/c", ElementType::kU8, {3}}) + "xyz";
  const auto crc = static_cast<uint32_t>(::crc32_z(
      0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  std::string descriptor = "PK\x07\x08";
  for (int i = 0; i < 4; ++i) {
    descriptor.push_back(static_cast<char>(crc >> (8 * i)));
  }
  EXPECT_TRUE(absl::StrContains(bytes, "b/c.npy"));
  EXPECT_TRUE(absl::StrContains(bytes, content + descriptor));
  EXPECT_EQ(bytes.substr(bytes.size() - 22, 4), "PK\x05\x06");
}

TEST(NpzWriterDeathTest, WrongByteCountIsABug) {
  FaultFileEnv env;
  auto writer = CreateNpzFile(env, "f", Tensors());
  ASSERT_TRUE(writer.ok());
  EXPECT_DEATH((void)(*writer)->Finish(), "broken invariant");
  EXPECT_DEATH((void)(*writer)->Append("123456789012"), "broken invariant");
}

}  // namespace
}  // namespace selari
