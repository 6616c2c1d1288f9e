// LiveCalls: the streams and waiting calls that are open now. gRPC's own
// shutdown waits for them without telling them; this list ends them.
//
// Thread safety: all methods from any thread.

#ifndef SELARI_SERVER_RPC_LIVE_CALLS_H_
#define SELARI_SERVER_RPC_LIVE_CALLS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"

namespace selari {

// One open call. Methods from any thread, also after the call has ended.
class LiveCall {
 public:
  virtual ~LiveCall() = default;
  // Ends the call with `status` once a message that is being written is out.
  virtual void End(const absl::Status& status) = 0;
  // Breaks the call off, also when its reader does not read.
  virtual void Abort() = 0;
};

class LiveCalls {
 public:
  // REQUIRES: calls_max > 0.
  explicit LiveCalls(int32_t calls_max) : calls_max_(calls_max) {}

  // UNAVAILABLE once draining, RESOURCE_EXHAUSTED when calls_max are open.
  // shared_ptr: a call may end while Drain talks to it.
  absl::Status Add(const std::shared_ptr<LiveCall>& call);
  void Remove(const std::shared_ptr<LiveCall>& call);

  // Breaks off the open calls.
  void AbortAll();

  // Refuses new calls, ends the open ones with UNAVAILABLE, breaks off those
  // that are still there after `timeout_ms`, and returns when all are gone.
  void Drain(int64_t timeout_ms);

 private:
  std::vector<std::shared_ptr<LiveCall>> Snapshot();

  const int32_t calls_max_;

  Mutex mu_;
  CondVar removed_;
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  std::set<std::shared_ptr<LiveCall>> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace selari

#endif  // SELARI_SERVER_RPC_LIVE_CALLS_H_
