#include "cli/write_out.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(WriteOutDeathTest, WritesAll) {
  testing::internal::CaptureStdout();
  EXPECT_TRUE(WriteOut("one\ntwo\n").ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "one\ntwo\n");
}

TEST(WriteOutDeathTest, SaysThatADiskIsFull) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
        const absl::Status status = WriteOut("text");
        std::fprintf(stderr, "%s\n", status.ToString().c_str());
        _exit(status.ok() ? 1 : 0);
      },
      testing::ExitedWithCode(0),
      "INTERNAL: cannot write to standard output: No space left on device");
}

TEST(WriteOutDeathTest, EndsQuietlyWhenNobodyReads) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        signal(SIGPIPE, SIG_IGN);
        int ends[2];
        if (pipe(ends) != 0) {
          _exit(1);
        }
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        static_cast<void>(WriteOut("text"));
        _exit(2);
      },
      testing::KilledBySignal(SIGPIPE), "^$");
}

}  // namespace
}  // namespace selari
