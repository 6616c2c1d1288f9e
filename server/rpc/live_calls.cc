#include "server/rpc/live_calls.h"

#include <chrono>

#include "common/status.h"

namespace selari {
namespace {

absl::Status Draining() {
  return absl::UnavailableError("the server is shutting down");
}

}  // namespace

absl::Status LiveCalls::Add(const std::shared_ptr<LiveCall>& call) {
  MutexLock lock(&mu_);
  if (draining_) {
    return Draining();
  }
  if (static_cast<int64_t>(calls_.size()) >= calls_max_) {
    return absl::ResourceExhaustedError(absl::StrCat(
        calls_max_, " streams and waiting calls are open, the most allowed"));
  }
  calls_.insert(call);
  return absl::OkStatus();
}

void LiveCalls::Remove(const std::shared_ptr<LiveCall>& call) {
  MutexLock lock(&mu_);
  calls_.erase(call);
  removed_.NotifyAll();
}

std::vector<std::shared_ptr<LiveCall>> LiveCalls::Snapshot() {
  MutexLock lock(&mu_);
  return {calls_.begin(), calls_.end()};
}

void LiveCalls::AbortAll() {
  for (const auto& call : Snapshot()) {
    call->Abort();
  }
}

void LiveCalls::Drain(int64_t timeout_ms) {
  {
    MutexLock lock(&mu_);
    draining_ = true;
  }
  for (const auto& call : Snapshot()) {
    call->End(Draining());
  }
  {
    const auto deadline = std::chrono::steady_clock::now() +
                          std::chrono::milliseconds(timeout_ms);
    MutexLock lock(&mu_);
    while (!calls_.empty()) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0 || !removed_.WaitFor(&mu_, left)) {
        break;
      }
    }
  }
  AbortAll();
  MutexLock lock(&mu_);
  while (!calls_.empty()) {
    removed_.Wait(&mu_);
  }
}

}  // namespace selari
