// ManualExecutor: an Executor whose closures run when a test says so, on the
// test's thread.
//
// Thread safety: Post from any thread; the rest from the test's.

#ifndef SELARI_COMMON_MANUAL_EXECUTOR_H_
#define SELARI_COMMON_MANUAL_EXECUTOR_H_

#include <deque>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/executor.h"
#include "common/mutex.h"

namespace selari {

class ManualExecutor : public Executor {
 public:
  void Post(std::function<void()> closure) override {
    MutexLock lock(&mu_);
    closures_.push_back(std::move(closure));
  }

  // Runs closures, also those that they post, until none is left. Tells how
  // many ran.
  int RunUntilIdle() {
    int count = 0;
    while (RunOne()) {
      ++count;
    }
    return count;
  }

  // False when there was none.
  bool RunOne() {
    std::function<void()> closure;
    {
      MutexLock lock(&mu_);
      if (closures_.empty()) {
        return false;
      }
      closure = std::move(closures_.front());
      closures_.pop_front();
    }
    closure();
    return true;
  }

 private:
  Mutex mu_;
  std::deque<std::function<void()>> closures_ ABSL_GUARDED_BY(mu_);
};

}  // namespace selari

#endif  // SELARI_COMMON_MANUAL_EXECUTOR_H_
