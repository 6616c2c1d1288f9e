#include "common/retry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/error_reason.h"

namespace selari {
namespace {

// Short, as a server that starts beside the coordinator should join at once.
constexpr int64_t kWaitMs = 200;
constexpr int64_t kFirstLogMs = 2'000;
constexpr int64_t kLogIntervalMs = 5'000;
// By how much what is told of the end of one lease may differ.
constexpr int64_t kPlaceSlackMs = 1'000;

}  // namespace

RetryState::RetryState(const RetryOptions& options)
    : options_(options),
      start_ms_(options.clock->NowMs()),
      logged_ms_(start_ms_ + kFirstLogMs - kLogIntervalMs) {}

bool RetryState::ShouldRetry(const absl::Status& error) {
  if (ReasonOf(error) == ErrorReason::kDuplicateId && RetryAfterMs(error) > 0) {
    return ShouldWaitForPlace(error);
  }
  if (!absl::IsUnavailable(error) && !absl::IsDeadlineExceeded(error)) {
    result_ = error;
    return false;
  }
  const int64_t now_ms = options_.clock->NowMs();
  const int64_t left_ms = start_ms_ + options_.timeout_ms - now_ms;
  if (left_ms <= 0) {
    result_ = absl::DeadlineExceededError(
        absl::StrCat(options_.peer, " did not answer for ",
                     options_.timeout_ms / 1000, " s: ", error.message()));
    return false;
  }
  if (now_ms - logged_ms_ >= kLogIntervalMs) {
    logged_ms_ = now_ms;
    options_.log(absl::StrCat("waits for ", options_.peer, " since ",
                              (now_ms - start_ms_) / 1000, " s; gives up in ",
                              left_ms / 1000, " s (", error.message(), ")"));
  }
  return Wait(left_ms);
}

bool RetryState::ShouldWaitForPlace(const absl::Status& error) {
  const int64_t now_ms = options_.clock->NowMs();
  const int64_t free_ms = now_ms + RetryAfterMs(error);
  if (!place_free_ms_.has_value()) {
    place_free_ms_ = free_ms;
    options_.log(absl::StrCat(error.message(), "; waits for that"));
  }
  // Answers take their time, so the ends that they tell differ a little.
  const bool renewed = free_ms > *place_free_ms_ + kPlaceSlackMs;
  if (renewed || now_ms > *place_free_ms_ + kPlaceSlackMs) {
    result_ = error;
    return false;
  }
  return Wait(kWaitMs);
}

bool RetryState::Wait(int64_t at_most_ms) {
  if (options_.wait_ms(std::min(kWaitMs, at_most_ms))) {
    result_ = absl::CancelledError(
        absl::StrCat("stopped while waiting for ", options_.peer));
    return false;
  }
  return true;
}

}  // namespace selari
