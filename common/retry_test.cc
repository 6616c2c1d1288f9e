#include "common/retry.h"

#include <vector>

#include "common/error_reason.h"
#include "common/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RetryTest : public ::testing::Test {
 protected:
  RetryTest() {
    options_.peer = "the coordinator at c:1";
    options_.timeout_ms = 12'000;
    options_.clock = &clock_;
    options_.wait_ms = [this](int64_t ms) {
      clock_.AdvanceMs(ms);
      return stop_;
    };
    options_.log = [this](absl::string_view line) { log_.emplace_back(line); };
  }
  // Answers as `statuses` say, the last one for ever.
  absl::StatusOr<int> Call(const std::vector<absl::Status>& statuses) {
    size_t calls = 0;
    return CallUntilAnswered<int>(options_, [&]() -> absl::StatusOr<int> {
      const absl::Status& status =
          statuses[std::min(calls++, statuses.size() - 1)];
      if (status.ok()) {
        return static_cast<int>(calls);
      }
      return status;
    });
  }

  FakeClock clock_;
  bool stop_ = false;
  std::vector<std::string> log_;
  RetryOptions options_;
};

TEST_F(RetryTest, GivesUpInTimeHavingSaidWhy) {
  const auto result = Call({absl::UnavailableError("refused")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(result.status().message(),
              HasSubstr("c:1 did not answer for 12 s: refused"));
  ASSERT_THAT(log_, SizeIs(2));
  EXPECT_THAT(log_[0], HasSubstr("waits for the coordinator at c:1 since 2 s; "
                                 "gives up in 10 s (refused)"));
}

TEST_F(RetryTest, RefusalIsReturnedAtOnce) {
  const auto result = Call({absl::AlreadyExistsError("server 1 is there")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(log_, IsEmpty());
}

absl::Status PlaceTaken(int64_t free_in_ms) {
  return WithReason(absl::AlreadyExistsError("server 1 is there already"),
                    ErrorReason::kDuplicateId,
                    static_cast<int32_t>(free_in_ms));
}

TEST_F(RetryTest, WaitsForTheLeaseOfADeadMember) {
  const int64_t end_ms = clock_.NowMs() + 8'000;
  const auto result =
      CallUntilAnswered<int>(options_, [&]() -> absl::StatusOr<int> {
        const int64_t left_ms = end_ms - clock_.NowMs();
        if (left_ms <= 0) {
          return 7;
        }
        return PlaceTaken(left_ms);
      });
  EXPECT_EQ(*result, 7);
  ASSERT_THAT(log_, SizeIs(1));
  EXPECT_THAT(log_[0], HasSubstr("server 1 is there already; waits for that"));
}

TEST_F(RetryTest, GivesUpAPlaceWhoseHolderIsAlive) {
  const int64_t start_ms = clock_.NowMs();
  const auto result =
      CallUntilAnswered<int>(options_, [&]() -> absl::StatusOr<int> {
        // Renewed each 2.5 s.
        const int64_t silent_ms = (clock_.NowMs() - start_ms) % 2'500;
        return PlaceTaken(10'000 - silent_ms);
      });
  EXPECT_EQ(result.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(clock_.NowMs() - start_ms, 2'600);
}

TEST_F(RetryTest, GivesUpAPlaceThatDoesNotBecomeFree) {
  const int64_t start_ms = clock_.NowMs();
  const auto result = Call({PlaceTaken(1)});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_LE(clock_.NowMs() - start_ms, 2'000);
}

TEST_F(RetryTest, AnswersAfterShortTrouble) {
  const auto result =
      Call({absl::UnavailableError("refused"),
            absl::DeadlineExceededError("slow"), absl::OkStatus()});
  EXPECT_EQ(*result, 3);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(RetryTest, StopsWhenTold) {
  stop_ = true;
  const auto result = Call({absl::UnavailableError("refused")});
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace selari
