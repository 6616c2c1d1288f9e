// Signals of a long-running command: the first SIGINT or SIGTERM asks for an
// orderly end, the second ends the process at once.
//
// Create it first thing in main, before any other thread: threads inherit the
// mask by which the signals reach only this class.

#ifndef SELARI_CLI_SIGNALS_H_
#define SELARI_CLI_SIGNALS_H_

#include <atomic>
#include <functional>
#include <thread>

#include "common/stop_token.h"

namespace selari {

class Signals {
 public:
  // `on_first` (may be null) is called with the signal's number, from the
  // signal thread, before the token is set.
  explicit Signals(std::function<void(int)> on_first);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  const StopToken* stop() const { return &stop_; }
  // The first signal's number, or 0.
  int received() const { return received_.load(); }

 private:
  void Run();

  const std::function<void(int)> on_first_;
  StopToken stop_;
  std::atomic<int> received_{0};
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace selari

#endif  // SELARI_CLI_SIGNALS_H_
