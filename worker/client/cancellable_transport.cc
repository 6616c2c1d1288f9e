#include "worker/client/cancellable_transport.h"

#include <utility>

namespace selari {

// The lock is held over the transport's Cancel, so that it cannot end
// meanwhile: its destructor waits in Detach.
void TransportSwitch::Cancel(const absl::Status& status) {
  MutexLock lock(&mu_);
  if (!status_.ok()) {
    return;
  }
  status_ = status;
  if (transport_ != nullptr) {
    transport_->Cancel(status);
  }
}

absl::Status TransportSwitch::status() const {
  MutexLock lock(&mu_);
  return status_;
}

// As in Cancel, the lock keeps the transport from ending meanwhile.
absl::Status TransportSwitch::UseMap(const v1::ShardMap& map) const {
  MutexLock lock(&mu_);
  if (!status_.ok()) {
    return status_;
  }
  return transport_ != nullptr
             ? transport_->UseMap(map)
             : absl::UnavailableError("there is no transport");
}

bool TransportSwitch::SomeServerIsAway() const {
  MutexLock lock(&mu_);
  return transport_ != nullptr && transport_->SomeServerIsAway();
}

absl::Status TransportSwitch::Attach(CancellableTransport* transport) {
  MutexLock lock(&mu_);
  transport_ = transport;
  return status_;
}

void TransportSwitch::Detach() {
  MutexLock lock(&mu_);
  transport_ = nullptr;
}

CancellableTransport::CancellableTransport(
    std::unique_ptr<ShardTransport> transport, TransportSwitch* off)
    : transport_(std::move(transport)), off_(off) {}

CancellableTransport::~CancellableTransport() {
  off_->Detach();
  Stop();
}

absl::Status CancellableTransport::Start(ShardTransport::Listener* listener,
                                         int64_t timeout_ms) {
  listener_ = listener;
  absl::Status before = off_->Attach(this);
  if (!before.ok()) {
    return before;
  }
  const absl::Status result = transport_->Start(this, timeout_ms);
  {
    MutexLock lock(&started_mu_);
    started_ = true;
  }
  // A Cancel until here has only interrupted the start.
  const absl::Status off = off_->status();
  return off.ok() ? result : off;
}

void CancellableTransport::Send(std::vector<ShardRequest> requests) {
  transport_->Send(std::move(requests));
}

void CancellableTransport::Cancel(const absl::Status& status) {
  {
    MutexLock lock(&started_mu_);
    if (!started_) {
      transport_->InterruptStart();
      return;
    }
  }
  OnFailed(status);
  Stop();
}

void CancellableTransport::Stop() {
  MutexLock lock(&stop_mu_);
  transport_->Stop();
}

void CancellableTransport::OnReplies(std::vector<ShardReply> replies) {
  listener_->OnReplies(std::move(replies));
}

std::vector<ShardRequest> CancellableTransport::OnConnected(
    const std::vector<int32_t>& shards) {
  return listener_->OnConnected(shards);
}

void CancellableTransport::OnFailed(const absl::Status& status) {
  {
    MutexLock lock(&failed_mu_);
    if (failed_) {
      return;
    }
    failed_ = true;
  }
  listener_->OnFailed(status);
}

}  // namespace selari
