// CallUntilAnswered: keeps calling a peer that cannot be reached, and says so.
// A member that finds its place taken (DUPLICATE_ID) by what may be a dead life
// of itself waits for that life's lease to end, and gives up as soon as it sees
// the lease renewed.
//
//   SELARI_ASSIGN_OR_RETURN(
//       v1::GetJobResponse job,
//       CallUntilAnswered<v1::GetJobResponse>(
//           options, [&] { return client->GetJob(); }));

#ifndef SELARI_COMMON_RETRY_H_
#define SELARI_COMMON_RETRY_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/clock.h"

namespace selari {

struct RetryOptions {
  // Who is called, for messages: "the coordinator at host:port".
  std::string peer;
  // How long to try. > 0.
  int64_t timeout_ms = 300'000;
  const Clock* clock = nullptr;  // borrowed
  // Waits so many milliseconds, or less when the caller must end; true then.
  std::function<bool(int64_t)> wait_ms;
  // Told within 2 s, and every 5 s, who does not answer, why, and for how long
  // it will be tried.
  std::function<void(absl::string_view)> log;
};

// Where a series of calls stands. Not thread-safe.
class RetryState {
 public:
  explicit RetryState(const RetryOptions& options);

  // True when `error` means that the peer could not be reached or that a place
  // may become free, and it should be called again: waits a moment before it
  // says so. Otherwise `result()` is
  // what to return: the peer's own error, DEADLINE_EXCEEDED when the time is
  // over, CANCELLED when wait_ms said so.
  bool ShouldRetry(const absl::Status& error);
  const absl::Status& result() const { return result_; }

 private:
  bool ShouldWaitForPlace(const absl::Status& error);
  bool Wait(int64_t at_most_ms);

  const RetryOptions& options_;
  const int64_t start_ms_;
  int64_t logged_ms_;
  // When the lease of who has the place ends, by the first answer.
  std::optional<int64_t> place_free_ms_;
  absl::Status result_;
};

// Calls until the answer is not UNAVAILABLE or DEADLINE_EXCEEDED. Blocks.
template <class Response>
absl::StatusOr<Response> CallUntilAnswered(
    const RetryOptions& options,
    const std::function<absl::StatusOr<Response>()>& call) {
  RetryState state(options);
  while (true) {
    absl::StatusOr<Response> response = call();
    if (response.ok()) {
      return response;
    }
    if (!state.ShouldRetry(response.status())) {
      return state.result();
    }
  }
}

}  // namespace selari

#endif  // SELARI_COMMON_RETRY_H_
