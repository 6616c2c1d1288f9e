#include "cli/stored_status.h"

#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/posix_file_env.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/checkpoint/checkpoint_fixture.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/file_metadata_store.h"

namespace selari {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int64_t kWrittenMs = 1'700'000'000'000;

class StoredStatusTest : public ::testing::Test {
 protected:
  StoredStatusTest()
      : run_(absl::StrCat(
            ::testing::TempDir(), "/",
            ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    status_.set_state(v1::JOB_STATE_RUNNING);
    status_.set_step(5);
    status_.set_written_time_ms(kWrittenMs);
  }

  // As a coordinator that lives until Die.
  void Write() {
    EXPECT_TRUE(env_.CreateDirs(run_).ok());
    auto store = FileMetadataStore::Open(&env_, run_ + "/coordinator");
    ASSERT_TRUE(store.ok()) << store.status();
    coordinator_ = *std::move(store);
    ASSERT_TRUE(
        coordinator_->Put(Coordinator::kStatusKey, status_.SerializeAsString())
            .ok());
  }
  void Die() { coordinator_.reset(); }

  StoredStatus Read() {
    const auto stored = ReadStoredStatus(env_, run_);
    EXPECT_TRUE(stored.ok()) << stored.status();
    return stored.value_or(StoredStatus());
  }
  std::string AgeAfterMs(int64_t ms) {
    return DescribeAge(Read(), kWrittenMs + ms);
  }

  PosixFileEnv env_;
  const std::string run_;
  v1::JobStatus status_;
  std::unique_ptr<FileMetadataStore> coordinator_;
};

TEST_F(StoredStatusTest, RunThatIsUnderWayIsOfItsProcess) {
  Write();
  EXPECT_FALSE(Read().status.abandoned());
  EXPECT_EQ(AgeAfterMs(2000),
            absl::StrCat("written 2.0 s ago; process ", getpid(), " runs it"));
}

TEST_F(StoredStatusTest, AgeBeyondTheBoundIsTrouble) {
  Write();
  EXPECT_THAT(AgeAfterMs(kStoredStatusOldMs), StartsWith("written 30 s ago"));
  EXPECT_THAT(AgeAfterMs(kStoredStatusOldMs + 1000),
              AllOf(StartsWith("last heard of 31 s ago, though process "),
                    HasSubstr("should write every 5 s: it hangs")));
}

TEST_F(StoredStatusTest, RunOfADeadProcessIsAbandoned) {
  Write();
  Die();
  EXPECT_TRUE(Read().status.abandoned());
  EXPECT_EQ(AgeAfterMs(3 * 3600 * 1000),
            "last heard of 3 h 0 min ago; no process holds this run any more: "
            "it was killed, or its machine went down; there is no checkpoint "
            "to go on from");
}

TEST_F(StoredStatusTest, AbandonedRunShowsTheNewestCheckpointOnTheDisk) {
  status_.set_checkpoint("older");
  status_.set_checkpoint_step(4);
  Write();
  const auto newest = WriteExample(env_, run_ + "/checkpoints", {.step = 7});
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_EQ(Read().status.checkpoint_step(), 4) << "its process will say so";
  Die();
  const StoredStatus stored = Read();
  EXPECT_EQ(stored.status.step(), 5);
  EXPECT_EQ(stored.status.checkpoint_step(), 7);
  EXPECT_EQ(stored.status.checkpoint(), *newest);
  EXPECT_EQ(stored.status.checkpoint_digest().size(), 64u);
  EXPECT_THAT(AgeAfterMs(0), HasSubstr("--resume goes on from step 7"));
}

TEST_F(StoredStatusTest, EndedRunIsNotAbandoned) {
  status_.set_state(v1::JOB_STATE_STOPPED);
  Write();
  Die();
  EXPECT_FALSE(Read().status.abandoned());
  EXPECT_EQ(AgeAfterMs(200'000), "ended 3 min 20 s ago");
  // A clock that is behind the writer's.
  EXPECT_EQ(AgeAfterMs(-1), "ended 0.0 s ago");
}

TEST_F(StoredStatusTest, TimeThatWasNotWrittenIsUnknown) {
  status_.set_state(v1::JOB_STATE_DONE);
  status_.clear_written_time_ms();
  Write();
  EXPECT_EQ(AgeAfterMs(0), "ended at an unknown time");
}

TEST_F(StoredStatusTest, FolderWithoutACoordinatorIsNotFound) {
  const absl::Status status = ReadStoredStatus(env_, run_).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr(run_ + " holds no run"));
}

}  // namespace
}  // namespace selari
