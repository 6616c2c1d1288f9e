#include "worker/client/push_window.h"

#include <variant>

namespace selari {

void PushWindow::Start(int64_t bytes_max) {
  MutexLock lock(&mu_);
  limited_ = true;
  bytes_max_ = bytes_max;
  bytes_ = 0;
}

void PushWindow::Open() {
  MutexLock lock(&mu_);
  limited_ = false;
  changed_.NotifyAll();
}

void PushWindow::CountSent(const std::vector<ShardRequest>& requests) {
  MutexLock lock(&mu_);
  for (const ShardRequest& request : requests) {
    bytes_ += GradientBytes(request);
  }
}

void PushWindow::CountAnswered(const std::vector<ShardReply>& replies) {
  MutexLock lock(&mu_);
  for (const ShardReply& reply : replies) {
    int32_t chunk = -1;
    if (const auto* ack = std::get_if<PushAck>(&reply)) {
      chunk = ack->chunk;
    } else if (const auto* error = std::get_if<RequestError>(&reply)) {
      chunk = error->sequence > 0 ? error->chunk : -1;
    }
    if (chunk >= 0 && chunk < static_cast<int64_t>(layout_->chunks().size())) {
      bytes_ -= layout_->chunk(chunk).count * int64_t{sizeof(float)};
    }
  }
  if (bytes_ < bytes_max_) {
    changed_.NotifyAll();
  }
}

void PushWindow::Wait() {
  MutexLock lock(&mu_);
  while (limited_ && bytes_ >= bytes_max_) {
    changed_.Wait(&mu_);
  }
}

}  // namespace selari
