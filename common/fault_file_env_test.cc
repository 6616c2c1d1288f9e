#include "common/fault_file_env.h"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "common/file_env.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

std::string Read(FaultFileEnv& env, absl::string_view path) {
  return ReadFile(env, path, 1000).value_or("absent");
}

TEST(FaultFileEnvTest, NthCallFailsOnce) {
  FaultFileEnv env;
  env.FailCall({.call = 1, .error = EIO});
  EXPECT_TRUE(env.CreateDirs("d").ok());
  EXPECT_FALSE(env.fault_hit());
  EXPECT_TRUE(absl::IsDataLoss(env.SyncDir("d")));
  EXPECT_TRUE(env.fault_hit());
  EXPECT_TRUE(env.SyncDir("d").ok());
}

TEST(FaultFileEnvTest, PermanentFaultStays) {
  FaultFileEnv env;
  env.FailCall({.error = EROFS, .permanent = true});
  EXPECT_TRUE(absl::IsPermissionDenied(env.CreateDirs("d")));
  EXPECT_TRUE(absl::IsPermissionDenied(env.CreateDirs("d")));
}

TEST(FaultFileEnvTest, FailedFileStaysFailed) {
  FaultFileEnv env;
  const auto file = env.OpenForWrite("f");
  ASSERT_TRUE(file.ok());
  env.FailCall({.error = EIO});
  EXPECT_TRUE(absl::IsDataLoss((*file)->Sync()));
  EXPECT_TRUE(absl::IsDataLoss((*file)->Append("x")));
  EXPECT_TRUE(absl::IsDataLoss((*file)->Sync()));
}

TEST(FaultFileEnvTest, FullDiskTakesAPart) {
  FaultFileEnv env;
  env.SetCapacityBytes(5);
  const auto file = env.OpenForWrite("f");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->Append("123").ok());
  EXPECT_TRUE(absl::IsResourceExhausted((*file)->Append("456")));
  EXPECT_EQ(Read(env, "f"), "12345");
}

TEST(FaultFileEnvTest, DeniedFolderIsOnlyRead) {
  FaultFileEnv env;
  ASSERT_TRUE(env.CreateDirs("/d/e").ok());
  env.DenyWrites("/d");
  EXPECT_TRUE(absl::IsPermissionDenied(env.OpenForWrite("d/f").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(env.CreateDirs("d/e/new")));
  EXPECT_TRUE(absl::IsPermissionDenied(env.RemoveDir("d/e")));
  EXPECT_TRUE(env.CreateDirs("/d/e").ok());
  EXPECT_TRUE(env.OpenForWrite("dd").ok());
  EXPECT_TRUE(env.List("d").ok());
}

TEST(FaultFileEnvTest, CrashLosesUnsyncedBytes) {
  FaultFileEnv env;
  const auto file = env.OpenForWrite("f");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("kept").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE(env.SyncDir("/").ok());
  ASSERT_TRUE((*file)->Append("lost").ok());
  env.Crash({});
  EXPECT_EQ(Read(env, "f"), "kept");
  EXPECT_FALSE((*file)->Append("by a dead process").ok());
}

TEST(FaultFileEnvTest, CrashLosesUnsyncedNames) {
  FaultFileEnv env;
  ASSERT_TRUE(WriteFileAtomically(env, "f", "old").ok());
  const auto file = env.OpenForWrite("g");
  ASSERT_TRUE((*file)->Append("new").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE(env.Rename("g", "f").ok());
  EXPECT_EQ(Read(env, "f"), "new");
  env.Crash({});
  EXPECT_EQ(Read(env, "f"), "old");
}

TEST(FaultFileEnvTest, SeededCrashIsRepeatableAndVaries) {
  const auto survivor = [](uint64_t seed) {
    FaultFileEnv env;
    const auto file = env.OpenForWrite("f");
    EXPECT_TRUE(env.SyncDir("/").ok());
    EXPECT_TRUE((*file)->Append(std::string(100, 'x')).ok());
    env.Crash({.seed = seed});
    return Read(env, "f");
  };
  bool varies = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(survivor(seed), survivor(seed));
    varies = varies || survivor(seed) != survivor(seed + 1);
  }
  EXPECT_TRUE(varies);
}

// The property that WriteFileAtomically promises, for a failure of each call
// and a crash right after it.
TEST(FaultFileEnvTest, AtomicWriteIsOldOrNewWhateverFails) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    bool hit = true;
    for (int64_t call = 0; hit; ++call) {
      FaultFileEnv env;
      ASSERT_TRUE(WriteFileAtomically(env, "f", "old").ok());
      env.FailCall({.call = call, .error = EIO, .permanent = true});
      const absl::Status status = WriteFileAtomically(env, "f", "new");
      hit = env.fault_hit();
      EXPECT_EQ(status.ok(), !hit);
      env.Crash({.seed = seed});
      const std::string left = Read(env, "f");
      EXPECT_TRUE(left == "new" || (hit && left == "old"))
          << "call " << call << " seed " << seed << ": " << left;
    }
  }
}

TEST(FaultFileEnvTest, DurableFoldersSurvive) {
  FaultFileEnv env;
  ASSERT_TRUE(CreateDirsDurably(env, "kept/a/b").ok());
  ASSERT_TRUE(env.CreateDirs("kept/a/b/lost").ok());
  env.Crash({});
  EXPECT_TRUE(*env.Exists("kept/a/b"));
  EXPECT_FALSE(*env.Exists("kept/a/b/lost"));
}

}  // namespace
}  // namespace selari
