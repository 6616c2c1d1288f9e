#include "cli/local_transport.h"

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/status.h"
#include "server/rpc/hello_check.h"
#include "worker/client/push_window.h"

namespace selari {
namespace {

// Hands replies on until it is closed; Close waits for those under way.
class ListenerSink final : public ReplySink {
 public:
  ListenerSink(ShardTransport::Listener* listener, PushWindow* window)
      : listener_(listener), window_(window) {}

  void OnReplies(std::vector<ShardReply> replies) override {
    {
      MutexLock lock(&mu_);
      if (closed_) {
        return;
      }
      ++running_;
    }
    window_->CountAnswered(replies);
    listener_->OnReplies(std::move(replies));
    MutexLock lock(&mu_);
    --running_;
    idle_.NotifyAll();
  }

  void Close() {
    MutexLock lock(&mu_);
    closed_ = true;
    while (running_ > 0) {
      idle_.Wait(&mu_);
    }
  }

 private:
  ShardTransport::Listener* const listener_;
  PushWindow* const window_;

  Mutex mu_;
  CondVar idle_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int running_ ABSL_GUARDED_BY(mu_) = 0;
};

class LocalTransport final : public ShardTransport {
 public:
  LocalTransport(ShardHost* host, const WorkerIdentity& worker)
      : host_(host), worker_(worker) {}
  ~LocalTransport() override { Stop(); }

  // All is there at once or not at all: the time-out is never used.
  absl::Status Start(Listener* listener, int64_t /*timeout_ms*/) override {
    job_ = host_->job();
    const std::vector<int32_t> shards = host_->shards();
    if (job_ == nullptr ||
        static_cast<int32_t>(shards.size()) != job_->layout.shard_count()) {
      return absl::FailedPreconditionError(
          absl::StrCat("this process hosts ", shards.size(),
                       " shards, not all of the job's"));
    }
    window_ = std::make_unique<PushWindow>(&job_->layout);
    window_->Start(WindowBytes(*job_, shards));
    sink_ = std::make_shared<ListenerSink>(listener, window_.get());
    session_ = host_->Connect(worker_, sink_);
    Send(listener->OnConnected(shards));
    return absl::OkStatus();
  }

  void Send(std::vector<ShardRequest> requests) override {
    window_->CountSent(requests);
    host_->Submit(session_, std::move(requests));
  }

  void WaitForWindow() override { window_->Wait(); }

  void Stop() override {
    if (sink_ != nullptr) {
      window_->Open();
      host_->Disconnect(session_);
      sink_->Close();
      sink_ = nullptr;
    }
  }

  TransportStats Stats() const override { return {}; }

 private:
  ShardHost* const host_;
  const WorkerIdentity worker_;

  // Constant from Start to Stop.
  std::shared_ptr<const ShardJob> job_;
  std::unique_ptr<PushWindow> window_;
  std::shared_ptr<ListenerSink> sink_;
  ShardHost::SessionId session_ = 0;
};

}  // namespace

std::unique_ptr<ShardTransport> MakeLocalTransport(
    ShardHost* host, const WorkerIdentity& worker) {
  return std::make_unique<LocalTransport>(host, worker);
}

}  // namespace selari
