// Notification: one event that threads wait for.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_COMMON_NOTIFICATION_H_
#define SELARI_COMMON_NOTIFICATION_H_

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace selari {

class Notification {
 public:
  // Repeating it is harmless.
  void Notify() {
    MutexLock lock(&mu_);
    notified_ = true;
    changed_.NotifyAll();
  }

  bool notified() const {
    MutexLock lock(&mu_);
    return notified_;
  }

  // Blocks until Notify was called. The caller may destroy the object then.
  void Wait() const {
    MutexLock lock(&mu_);
    while (!notified_) {
      changed_.Wait(&mu_);
    }
  }

 private:
  mutable Mutex mu_;
  mutable CondVar changed_;
  bool notified_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace selari

#endif  // SELARI_COMMON_NOTIFICATION_H_
