// StopToken: how a signal, a user interface or a test asks a long call such
// as RunServer to end in an orderly way.
//
// Thread safety: all methods from any thread. RequestStop is not safe inside
// a signal handler: wait for signals on a thread of their own (sigwait).

#ifndef SELARI_COMMON_STOP_TOKEN_H_
#define SELARI_COMMON_STOP_TOKEN_H_

#include <chrono>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace selari {

class StopToken {
 public:
  // Cannot be taken back; repeating it is harmless.
  void RequestStop() {
    MutexLock lock(&mu_);
    stop_requested_ = true;
    requested_.NotifyAll();
  }

  bool stop_requested() const {
    MutexLock lock(&mu_);
    return stop_requested_;
  }

  // Waits until a stop is requested, at most `timeout_ms`, and tells whether
  // it is.
  bool WaitForMs(int64_t timeout_ms) const {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(timeout_ms);
    MutexLock lock(&mu_);
    while (!stop_requested_) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) {
        break;
      }
      requested_.WaitFor(&mu_, left);
    }
    return stop_requested_;
  }

 private:
  mutable Mutex mu_;
  mutable CondVar requested_;
  bool stop_requested_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace selari

#endif  // SELARI_COMMON_STOP_TOKEN_H_
