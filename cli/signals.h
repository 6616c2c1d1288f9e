// Signals of a long-running command: the first SIGINT, SIGTERM or SIGHUP (a
// terminal that closed; nohup(1) makes it none) asks for an orderly end, a
// second one but SIGHUP ends the process at once, and says so on standard
// error. One within kSameWishMs of the first is the same wish: programs such as
// timeout(1) signal a process and its group, which holds the process too.
//
// Create it first thing in main, before any other thread: threads inherit the
// mask by which the signals reach only this class.

#ifndef SELARI_CLI_SIGNALS_H_
#define SELARI_CLI_SIGNALS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "common/clock.h"
#include "common/stop_token.h"

namespace selari {

class Signals {
 public:
  // A person needs longer than this to want something else.
  static constexpr int64_t kSameWishMs = 200;

  // `on_first` (may be null) is called with the signal's number, from the
  // signal thread, before the token is set. `clock` (borrowed) is read once a
  // signal.
  Signals(std::function<void(int)> on_first, const Clock* clock);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  const StopToken* stop() const { return &stop_; }
  // The first signal's number, or 0.
  int received() const { return received_.load(); }

 private:
  void Run();

  const std::function<void(int)> on_first_;
  const Clock* const clock_;
  StopToken stop_;
  std::atomic<int> received_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace selari

#endif  // SELARI_CLI_SIGNALS_H_
