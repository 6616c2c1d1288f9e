#include "common/file_lock.h"

#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

TEST(FileLockTest, SecondOwnerIsRefusedUntilTheFirstLeaves) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/second.lock");
  auto first = FileLock::Acquire(path);
  ASSERT_TRUE(first.ok()) << first.status();

  auto second = FileLock::Acquire(path);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(second.status().message(), HasSubstr(path));
  EXPECT_THAT(second.status().message(), HasSubstr(absl::StrCat(getpid())));

  first->reset();
  EXPECT_TRUE(FileLock::Acquire(path).ok());
}

TEST(FileLockTest, MissingFolderIsNotFound) {
  auto lock = FileLock::Acquire(
      absl::StrCat(::testing::TempDir(), "/no/such/folder/x.lock"));
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace selari
