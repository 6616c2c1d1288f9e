#include "cli/watch_job.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

// Only a system's own services listen on so low a port.
constexpr char kNowhere[] = "127.0.0.1:1";

bool Unexpected(const v1::JobStatus&) {
  ADD_FAILURE() << "there is no coordinator";
  return true;
}

TEST(WatchJobTest, GivesUpOnACoordinatorThatNeverComes) {
  WatchOptions options;
  options.coordinator = kNowhere;
  options.timeout_ms = 300;
  options.log = [](absl::string_view) {};
  StopToken never;
  const absl::Status status = WatchJob(options, never, Unexpected);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the coordinator at 127.0.0.1:1 did not answer"));
}

TEST(WatchJobTest, SaysForWhomItWaitsUntilItIsStopped) {
  std::vector<std::string> log;
  StopToken stop;
  WatchOptions options;
  options.coordinator = kNowhere;
  options.log = [&](absl::string_view note) {
    log.emplace_back(note);
    stop.RequestStop();
  };
  EXPECT_TRUE(WatchJob(options, stop, Unexpected).ok());
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("waits for the coordinator at 127.0.0.1:1"));
}

}  // namespace
}  // namespace selari
