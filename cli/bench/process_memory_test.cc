#include "cli/bench/process_memory.h"

#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

TEST(ProcessMemoryTest, ReadsTheLinesOfStatus) {
  const ProcessMemory memory = ParseProcessMemory(
      "Name:\tselari\nVmPeak:\t  999 kB\nVmHWM:\t    2048 kB\n"
      "VmRSS:\t    1024 kB\nThreads:\t3\n");
  EXPECT_EQ(memory.rss_peak_bytes, 2048 * 1024);
  EXPECT_EQ(memory.rss_bytes, 1024 * 1024);
}

TEST(ProcessMemoryTest, MissingOrStrangeLinesAreZero) {
  const ProcessMemory memory = ParseProcessMemory("VmRSS:\t lots\nVmHWM:\n");
  EXPECT_EQ(memory.rss_bytes, 0);
  EXPECT_EQ(memory.rss_peak_bytes, 0);
}

TEST(ProcessMemoryTest, ThisProcessHasSome) {
  const ProcessMemory memory = ReadProcessMemory();
  EXPECT_GT(memory.rss_bytes, 0);
  EXPECT_GE(memory.rss_peak_bytes, memory.rss_bytes / 2);
}

TEST(ProcessMemoryTest, TooMuchIsRefusedWithTheNumbers) {
  EXPECT_TRUE(CheckFreeMemory(1, "it").ok());
  const absl::Status status =
      CheckFreeMemory(std::numeric_limits<int64_t>::max(), "the model");
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("the model needs"));
}

}  // namespace
}  // namespace selari
