#include "server/coordinator/file_metadata_store.h"

#include <cerrno>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/fault_file_env.h"
#include "common/posix_file_env.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FileMetadataStoreTest : public ::testing::Test {
 protected:
  void Open() {
    auto store = FileMetadataStore::OpenUnlockedForTest(&env_, "/state");
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = *std::move(store);
  }
  void SetUp() override { Open(); }

  void Overwrite(absl::string_view path, absl::string_view bytes) {
    ASSERT_TRUE(WriteFileAtomically(env_, path, bytes).ok());
  }

  FaultFileEnv env_;
  std::unique_ptr<FileMetadataStore> store_;
};

TEST_F(FileMetadataStoreTest, DamagedByteAnywhereIsDataLossNamingTheFile) {
  ASSERT_TRUE(store_->Put("job", "value").ok());
  const std::string file = *ReadFile(env_, "/state/job.meta", 1000);
  for (size_t i = 0; i < file.size(); ++i) {
    std::string damaged = file;
    damaged[i] ^= 1;
    Overwrite("/state/job.meta", damaged);
    const auto value = store_->Get("job");
    EXPECT_EQ(value.status().code(), absl::StatusCode::kDataLoss) << i;
    EXPECT_THAT(value.status().message(), HasSubstr("/state/job.meta"));
  }
}

TEST_F(FileMetadataStoreTest, TruncatedFileIsDataLoss) {
  ASSERT_TRUE(store_->Put("job", "value").ok());
  const std::string file = *ReadFile(env_, "/state/job.meta", 1000);
  for (size_t size = 0; size < file.size(); ++size) {
    Overwrite("/state/job.meta", file.substr(0, size));
    EXPECT_EQ(store_->Get("job").status().code(), absl::StatusCode::kDataLoss)
        << size;
  }
  EXPECT_EQ(store_->Put("job", "new").status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(FileMetadataStoreTest, FailedWriteKeepsTheOldValue) {
  ASSERT_TRUE(store_->Put("job", "old").ok());
  for (int64_t n = 0;; ++n) {
    env_.FailCall({.call = n, .error = ENOSPC});
    const auto put = store_->Put("job", "new");
    if (!env_.fault_hit()) {
      EXPECT_TRUE(put.ok());
      break;
    }
    EXPECT_FALSE(put.ok());
    const auto value = store_->Get("job");
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_TRUE(value->bytes == "old" || value->bytes == "new");
  }
}

TEST_F(FileMetadataStoreTest, SwapWithAnOldVersionIsAborted) {
  EXPECT_EQ(*store_->CompareAndSwap("job", 0, "a"), 1);
  EXPECT_EQ(*store_->CompareAndSwap("job", 1, "b"), 2);
  const auto stale = store_->CompareAndSwap("job", 1, "c");
  EXPECT_EQ(stale.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(stale.status().message(), HasSubstr("version 2"));
  EXPECT_EQ(store_->Get("job")->bytes, "b");
}

TEST_F(FileMetadataStoreTest, ValuesSurviveACrashAfterPut) {
  ASSERT_TRUE(store_->Put("job", std::string("a\0b\n", 4)).ok());
  env_.Crash({});
  Open();
  const auto value = store_->Get("job");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(value->bytes, std::string("a\0b\n", 4));
  EXPECT_EQ(value->version, 1);
}

TEST_F(FileMetadataStoreTest, ListsKeysInOrder) {
  ASSERT_TRUE(store_->Put("status", "").ok());
  ASSERT_TRUE(store_->Put("job", "").ok());
  EXPECT_THAT(*store_->List(), ElementsAre("job", "status"));
  EXPECT_EQ(store_->Get("map").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(FileMetadataStoreTest, KeysAreChecked) {
  for (const char* key : {"", "../job", "a/b", "Job"}) {
    EXPECT_EQ(store_->Put(key, "x").status().code(),
              absl::StatusCode::kInvalidArgument)
        << key;
  }
}

TEST(FileMetadataStoreLockTest, OneProcessAtATime) {
  PosixFileEnv env;
  const std::string dir = absl::StrCat(::testing::TempDir(), "/store");
  auto first = FileMetadataStore::Open(&env, dir);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(FileMetadataStore::Open(&env, dir).status().code(),
            absl::StatusCode::kAlreadyExists);
  first->reset();
  EXPECT_TRUE(FileMetadataStore::Open(&env, dir).ok());
}

}  // namespace
}  // namespace selari
