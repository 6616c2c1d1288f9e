// Writer and reader of safetensors files together.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/types/span.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "common/safetensors_reader.h"
#include "common/safetensors_writer.h"
#include "common/sha256.h"
#include "common/status.h"
#include "common/tensor_file.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

absl::StatusOr<WrittenFile> WriteExample(FileEnv& env) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<TensorFileWriter> writer,
                          CreateSafetensorsFile(env, "f",
                                                {{"a", ElementType::kU8, {5}},
                                                 {"b", ElementType::kF32, {2}}},
                                                {{"k", "v"}}));
  SELARI_RETURN_IF_ERROR(writer->Append("abc"));
  SELARI_RETURN_IF_ERROR(writer->Append("de12345678"));
  return writer->Finish();
}

TEST(SafetensorsFileTest, EachFailingCallIsReported) {
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

TEST(SafetensorsFileTest, ReaderSeesWhatWasWritten) {
  FaultFileEnv env;
  const auto file = WriteExample(env);
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string bytes = *ReadFile(env, "f", 1000);
  EXPECT_EQ(file->size_bytes, static_cast<int64_t>(bytes.size()));
  EXPECT_EQ(file->sha256, Sha256Hex(bytes));
  const auto reader = SafetensorsReader::Open(env, "f");
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->header().metadata.at("k"), "v");
  EXPECT_EQ((*reader)->data_bytes(), 13);
  EXPECT_EQ((*reader)->header().entries[1].begin, 5);
  std::string b(8, '\0');
  ASSERT_TRUE((*reader)->ReadData(5, absl::MakeSpan(b)).ok());
  EXPECT_EQ(b, "12345678");
}

TEST(SafetensorsFileTest, EveryTruncationIsDataLossWithThePath) {
  FaultFileEnv env;
  const auto file = WriteExample(env);
  ASSERT_TRUE(file.ok());
  for (int64_t size = file->size_bytes - 1; size >= 0; --size) {
    ASSERT_TRUE(env.Truncate("f", size).ok());
    const absl::Status status = SafetensorsReader::Open(env, "f").status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << size << ": " << status;
    EXPECT_TRUE(absl::StartsWith(status.message(), "\"f\": ")) << status;
  }
}

TEST(SafetensorsFileDeathTest, MissingBytesAreABug) {
  FaultFileEnv env;
  auto writer =
      CreateSafetensorsFile(env, "f", {{"a", ElementType::kU8, {5}}}, {});
  ASSERT_TRUE(writer.ok());
  EXPECT_DEATH((void)(*writer)->Finish(), "broken invariant");
  EXPECT_DEATH((void)(*writer)->Append("123456"), "broken invariant");
}

}  // namespace
}  // namespace selari
