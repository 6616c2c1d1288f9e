// StatusGatherer: the end of something that several threads have a part in,
// each told once: waited for, or called back.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_SERVER_SHARD_STATUS_GATHERER_H_
#define SELARI_SERVER_SHARD_STATUS_GATHERER_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"

namespace selari {

class StatusGatherer {
 public:
  using Callback = std::function<void(absl::Status)>;

  // `done` is called once, with the first error, when `count` parts are told;
  // at once for none.
  explicit StatusGatherer(size_t count, Callback done = nullptr)
      : missing_(count), done_(std::move(done)) {
    if (count == 0 && done_ != nullptr) {
      done_(absl::OkStatus());
    }
  }
  // Parts that are never told, as their thread ended: CANCELLED.
  ~StatusGatherer() {
    if (missing() > 0 && done_ != nullptr) {
      done_(absl::CancelledError("the host was closed"));
    }
  }

  void Add(const absl::Status& part) {
    absl::Status status;
    {
      MutexLock lock(&mu_);
      status_.Update(part);
      if (--missing_ > 0) {
        return;
      }
      zero_.NotifyAll();
      status = status_;
    }
    if (done_ != nullptr) {
      done_(status);
    }
  }
  // The first error, once all are told.
  absl::Status Wait() {
    MutexLock lock(&mu_);
    while (missing_ > 0) {
      zero_.Wait(&mu_);
    }
    return status_;
  }

 private:
  size_t missing() {
    MutexLock lock(&mu_);
    return missing_;
  }

  Mutex mu_;
  CondVar zero_;
  size_t missing_ ABSL_GUARDED_BY(mu_);
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  const Callback done_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_STATUS_GATHERER_H_
