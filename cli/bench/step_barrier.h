// StepBarrier: a point that threads pass together, again and again, until one
// of them breaks it.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_CLI_BENCH_STEP_BARRIER_H_
#define SELARI_CLI_BENCH_STEP_BARRIER_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"

namespace selari {

class StepBarrier {
 public:
  explicit StepBarrier(int32_t threads) : threads_(threads) {}

  // Waits until as many threads as there are have arrived. False, at once and
  // for ever, after Break.
  bool Arrive() {
    if (threads_ == 1) {
      return true;
    }
    MutexLock lock(&mu_);
    const int64_t round = round_;
    if (++arrived_ == threads_) {
      arrived_ = 0;
      ++round_;
      changed_.NotifyAll();
    }
    while (round == round_ && !broken_) {
      changed_.Wait(&mu_);
    }
    return !broken_;
  }

  void Break() {
    MutexLock lock(&mu_);
    broken_ = true;
    changed_.NotifyAll();
  }

 private:
  const int32_t threads_;
  Mutex mu_;
  CondVar changed_;
  int32_t arrived_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t round_ ABSL_GUARDED_BY(mu_) = 0;
  bool broken_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace selari

#endif  // SELARI_CLI_BENCH_STEP_BARRIER_H_
