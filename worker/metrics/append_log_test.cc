#include "worker/metrics/append_log.h"

#include <cerrno>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/fault_file_env.h"
#include "common/file_env.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

std::string Read(FileEnv& env) { return ReadFile(env, "f", 1000).value_or(""); }

TEST(AppendLogTest, EachFailedCallIsReportedAndMadeUpFor) {
  bool hit = true;
  for (int64_t call = 0; hit; ++call) {
    FaultFileEnv env;
    AppendLog log(env, "f", 0, {});
    env.FailCall({.call = call, .error = ENOSPC});
    int errors = 0;
    for (absl::string_view record : {"one,", "two,", "three,", "four,"}) {
      const absl::Status status = log.Append(record);
      errors += status.ok() ? 0 : 1;
      EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status));
    }
    errors += log.Sync().ok() ? 0 : 1;
    hit = env.fault_hit();
    env.ClearFaults();
    EXPECT_EQ(errors, hit ? 1 : 0);
    EXPECT_TRUE(log.Sync().ok());
    EXPECT_EQ(Read(env), "one,two,three,four,") << call;
    EXPECT_EQ(log.lost_count(), 0);
  }
}

TEST(AppendLogTest, FullDiskKeepsWholeRecordsUpToTheLimit) {
  FaultFileEnv env;
  AppendLog log(env, "f", 0, {.pending_bytes_max = 10});
  ASSERT_TRUE(log.Append("abcd").ok());
  env.SetCapacityBytes(6);
  EXPECT_FALSE(log.Append("efgh").ok());
  EXPECT_FALSE(log.Append("ijkl").ok());
  EXPECT_FALSE(log.Append("lost").ok());
  EXPECT_EQ(log.lost_count(), 1);
  env.SetCapacityBytes(-1);
  EXPECT_TRUE(log.Append("m").ok());
  EXPECT_EQ(Read(env), "abcdefghijklm");
}

TEST(AppendLogTest, GoesOnAtTheGivenSize) {
  FaultFileEnv env;
  ASSERT_TRUE(WriteFileAtomically(env, "f", "kept|cut").ok());
  AppendLog log(env, "f", 5, {});
  ASSERT_TRUE(log.Append("new").ok());
  EXPECT_EQ(Read(env), "kept|new");
}

}  // namespace
}  // namespace selari
