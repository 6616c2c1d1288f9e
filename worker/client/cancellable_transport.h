// CancellableTransport: lets another thread end a client's waits, when the
// job has failed elsewhere or the process must go, and lead it to the servers
// of a newer shard map.
//
//   TransportSwitch off;
//   auto transport = std::make_unique<CancellableTransport>(
//       std::move(transport), &off);
//   ... another thread: off.Cancel(absl::AbortedError("the job failed")) ...

#ifndef SELARI_WORKER_CLIENT_CANCELLABLE_TRANSPORT_H_
#define SELARI_WORKER_CLIENT_CANCELLABLE_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "selari/v1/coordinator_service.pb.h"
#include "worker/client/shard_transport.h"

namespace selari {

class CancellableTransport;

// Thread safety: all methods from any thread. Outlives the transport.
class TransportSwitch {
 public:
  // Tells the transport's listener that it gave up with `status`, and ends all
  // connections. Only the first call counts; one that comes before the
  // transport has started makes Start return `status`, at once if it waits.
  // Not from a listener's call.
  void Cancel(const absl::Status& status);
  // OK until Cancel.
  absl::Status status() const;

  // As ShardTransport's. UNAVAILABLE before the transport's Start and after its
  // end, the status of Cancel after that.
  absl::Status UseMap(const v1::ShardMap& map) const;
  // False while there is no transport.
  bool SomeServerIsAway() const;

 private:
  friend class CancellableTransport;
  // OK, or why the transport must not be used.
  absl::Status Attach(CancellableTransport* transport);
  void Detach();

  mutable Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  CancellableTransport* transport_ ABSL_GUARDED_BY(mu_) = nullptr;
};

// Thread safety: as ShardTransport.
class CancellableTransport final : public ShardTransport,
                                   private ShardTransport::Listener {
 public:
  CancellableTransport(std::unique_ptr<ShardTransport> transport,
                       TransportSwitch* off);
  ~CancellableTransport() override;

  absl::Status Start(ShardTransport::Listener* listener,
                     int64_t timeout_ms) override;
  void InterruptStart() override { transport_->InterruptStart(); }
  void Send(std::vector<ShardRequest> requests) override;
  void WaitForWindow() override { transport_->WaitForWindow(); }
  void Stop() override;
  TransportStats Stats() const override { return transport_->Stats(); }
  absl::Status UseMap(const v1::ShardMap& map) override {
    return transport_->UseMap(map);
  }
  bool SomeServerIsAway() const override {
    return transport_->SomeServerIsAway();
  }
  std::shared_ptr<FloatBuffer> NewBuffer(int64_t floats) override {
    return transport_->NewBuffer(floats);
  }

 private:
  friend class TransportSwitch;
  void Cancel(const absl::Status& status);

  void OnReplies(std::vector<ShardReply> replies) override;
  std::vector<ShardRequest> OnConnected(
      const std::vector<int32_t>& shards) override;
  void OnFailed(const absl::Status& status) override;

  const std::unique_ptr<ShardTransport> transport_;
  TransportSwitch* const off_;
  // Set by Start, before any other thread sees this.
  ShardTransport::Listener* listener_ = nullptr;

  Mutex started_mu_;
  bool started_ ABSL_GUARDED_BY(started_mu_) = false;

  Mutex failed_mu_;
  bool failed_ ABSL_GUARDED_BY(failed_mu_) = false;

  // Held over the transport's Stop, which is for one thread at a time.
  Mutex stop_mu_;
};

}  // namespace selari

#endif  // SELARI_WORKER_CLIENT_CANCELLABLE_TRANSPORT_H_
