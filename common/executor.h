// Executor: runs closures later, in the order in which they were posted.
//
// What must not happen under a lock (calls to peers, files, callbacks) is
// posted here. ThreadExecutor has a thread of its own; a test takes
// ManualExecutor (manual_executor.h), which runs when the test says so.

#ifndef SELARI_COMMON_EXECUTOR_H_
#define SELARI_COMMON_EXECUTOR_H_

#include <deque>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace selari {

// Thread safety: Post from any thread, also from inside a closure.
class Executor {
 public:
  virtual ~Executor() = default;
  // Never blocks. Bounded by its callers: each posts a closure for an event
  // that it waits for, not for each message.
  virtual void Post(std::function<void()> closure) = 0;
};

class ThreadExecutor : public Executor {
 public:
  ThreadExecutor();
  // Runs what was posted, then ends. What is posted meanwhile runs too.
  ~ThreadExecutor() override;
  void Post(std::function<void()> closure) override;

 private:
  void Run();

  Mutex mu_;
  CondVar changed_;
  std::deque<std::function<void()>> closures_ ABSL_GUARDED_BY(mu_);
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace selari

#endif  // SELARI_COMMON_EXECUTOR_H_
