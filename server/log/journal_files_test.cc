#include "server/log/journal_files.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "gtest/gtest.h"
#include "server/log/journal_header.h"
#include "server/log/journal_writer.h"
#include "server/shard/shard_op.h"

namespace selari {
namespace {

const JournalId kId = {"00000000000000aa", 3};

std::vector<int64_t> Numbers(FileEnv& env) {
  std::vector<int64_t> numbers;
  const auto files = ListJournalFiles(env, "j", kId.shard);
  for (const JournalFile& file : *files) {
    numbers.push_back(file.number);
  }
  return numbers;
}

// Files 1 to 4 that begin with ops 0, 2, 2 and 4.
void WriteFiles(FileEnv* env) {
  auto writer = *JournalWriter::Open(env, {"j", kId});
  for (const int64_t ops : {2, 0, 2, 1}) {
    ASSERT_TRUE(writer->StartFile(writer->next_sequence() * 10).ok());
    for (int64_t i = 0; i < ops; ++i) {
      ASSERT_TRUE(writer->Append(TotalsOp{i, 0, {1.5}}).ok());
    }
  }
  ASSERT_TRUE(writer->Commit().ok());
}

TEST(JournalFilesTest, OnlyTheShardsOwnNamesCount) {
  FaultFileEnv env;
  EXPECT_TRUE(ListJournalFiles(env, "j", 3)->empty());
  ASSERT_TRUE(env.CreateDirs("j").ok());
  for (const std::string name :
       {"shard-00003-1234567890.journal", "shard-00003-000000007.journal",
        "shard-00003-7.journal", "shard-00003-000000000.journal",
        "shard-00003-000000008.journal.tmp", "shard-00004-000000009.journal",
        "shard-3-000000009.journal", "x"}) {
    ASSERT_TRUE(env.OpenForWrite(JoinPath("j", name)).ok());
  }
  EXPECT_EQ(Numbers(env), (std::vector<int64_t>{7, 1234567890}));
  EXPECT_EQ(JournalPath("j", 3, 7), "j/shard-00003-000000007.journal");
}

TEST(JournalFilesTest, HeadersTellWhereEachFileBegins) {
  FaultFileEnv env;
  WriteFiles(&env);
  const auto files = ReadJournalHeaders(env, "j", kId);
  ASSERT_TRUE(files.ok()) << files.status();
  std::vector<int64_t> begins;
  for (const JournalFile& file : *files) {
    begins.push_back(file.header->first_sequence);
    EXPECT_EQ(file.header->base_version, 10 * file.header->first_sequence);
  }
  EXPECT_EQ(begins, (std::vector<int64_t>{0, 2, 2, 4}));
}

TEST(JournalFilesTest, OnlyFilesThatNobodyNeedsAreRemoved) {
  const std::vector<std::vector<int64_t>> left = {
      {1, 2, 3, 4}, {1, 2, 3, 4}, {3, 4}, {3, 4}, {4}, {4}, {4}};
  for (size_t sequence = 0; sequence < left.size(); ++sequence) {
    FaultFileEnv env;
    WriteFiles(&env);
    ASSERT_TRUE(
        RemoveJournalFilesBefore(env, "j", kId, static_cast<int64_t>(sequence))
            .ok());
    EXPECT_EQ(Numbers(env), left[sequence]) << sequence;
    env.Crash({});
    EXPECT_EQ(Numbers(env), left[sequence]) << sequence;
  }
}

TEST(JournalFilesTest, RemovalThatStopsHalfwayLeavesTheNewestFiles) {
  for (int64_t call = 0;; ++call) {
    FaultFileEnv env;
    WriteFiles(&env);
    env.FailCall({call, EIO, /*permanent=*/true});
    const absl::Status status = RemoveJournalFilesBefore(env, "j", kId, 4);
    const bool hit = env.fault_hit();
    EXPECT_EQ(status.ok(), !hit);
    env.Crash({});
    const std::vector<int64_t> numbers = Numbers(env);
    for (size_t i = 0; i < numbers.size(); ++i) {
      EXPECT_EQ(numbers[numbers.size() - 1 - i], 4 - static_cast<int64_t>(i));
    }
    EXPECT_GE(numbers.size(), 1u);
    if (!hit) {
      break;
    }
  }
}

TEST(JournalFilesTest, NewLogBeginsWithoutOldFiles) {
  FaultFileEnv env;
  WriteFiles(&env);
  ASSERT_TRUE(RemoveAllJournalFiles(env, "j", 4).ok());
  EXPECT_EQ(Numbers(env).size(), 4u);
  ASSERT_TRUE(RemoveAllJournalFiles(env, "j", 3).ok());
  env.Crash({});
  EXPECT_TRUE(Numbers(env).empty());
  EXPECT_TRUE(RemoveAllJournalFiles(env, "absent", 3).ok());
}

}  // namespace
}  // namespace selari
