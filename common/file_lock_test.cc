#include "common/file_lock.h"

#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

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

TEST(FileLockTest, TheHolderIsFoundAndNotDisturbed) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/find.lock");
  auto holder = FileLock::Find(path);
  ASSERT_TRUE(holder.ok()) << holder.status();
  EXPECT_FALSE(holder->held);

  auto lock = FileLock::Acquire(path);
  ASSERT_TRUE(lock.ok()) << lock.status();
  holder = FileLock::Find(path);
  ASSERT_TRUE(holder.ok()) << holder.status();
  EXPECT_TRUE(holder->held);
  EXPECT_EQ(holder->process, absl::StrCat(getpid()));

  lock->reset();
  EXPECT_FALSE(FileLock::Find(path)->held);
}

TEST(FileLockTest, WhoeverAsksDoesNotKeepTheOwnerOut) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/asked.lock");
  std::atomic<bool> done{false};
  std::thread asker([&] {
    while (!done) {
      EXPECT_TRUE(FileLock::Find(path).ok());
    }
  });
  for (int i = 0; i < 100; ++i) {
    const auto lock = FileLock::Acquire(path);
    EXPECT_TRUE(lock.ok()) << lock.status();
  }
  done = true;
  asker.join();
}

TEST(FileLockTest, MissingFolderIsNotFound) {
  auto lock = FileLock::Acquire(
      absl::StrCat(::testing::TempDir(), "/no/such/folder/x.lock"));
  EXPECT_EQ(lock.status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace selari
