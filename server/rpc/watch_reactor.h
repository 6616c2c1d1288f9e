// WatchReactor: a server stream that sends the newest value of something, now
// and after each change, however slow its reader is: what came between is
// left out.
//
//   auto watch = std::make_shared<WatchReactor<Response>>(context, source,
//                                                         on_done);
//   watch->Start();
//   return watch.get();         // to gRPC
//   ... watch->Poll() about every 100 ms ...
//
// Thread safety: all methods from any thread.

#ifndef SELARI_SERVER_RPC_WATCH_REACTOR_H_
#define SELARI_SERVER_RPC_WATCH_REACTOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/grpc_status.h"
#include "common/mutex.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "server/rpc/live_calls.h"

namespace selari {

// Something that many streams follow.
class Watch : public LiveCall {
 public:
  virtual void Poll() = 0;
};

template <class Response>
class WatchReactor final
    : public grpc::ServerWriteReactor<Response>,
      public Watch,
      public std::enable_shared_from_this<WatchReactor<Response>> {
 public:
  // Writes the newest value and returns a number that rises with each change;
  // the same number, without writing, when it is `seen`. Sets `last` when no
  // change can follow. Must not block.
  using Source =
      std::function<int64_t(int64_t seen, Response* response, bool* last)>;

  WatchReactor(grpc::CallbackServerContext* context, Source source,
               std::function<void(const std::shared_ptr<Watch>&)> on_done)
      : context_(context),
        source_(std::move(source)),
        on_done_(std::move(on_done)) {}

  // Call it once, when the watch is in its owner's list.
  void Start() {
    {
      MutexLock lock(&mu_);
      self_ = this->shared_from_this();
      if (!finished_) {
        this->StartSendInitialMetadata();
      }
    }
    Poll();
  }

  void Poll() override {
    MutexLock lock(&mu_);
    if (writing_ || finished_ || self_ == nullptr) {
      return;
    }
    response_.Clear();
    bool last = false;
    const int64_t version = source_(seen_, &response_, &last);
    const bool changed = version != seen_;
    seen_ = version;
    if (changed && last) {
      finished_ = true;
      this->StartWriteAndFinish(&response_, grpc::WriteOptions(),
                                grpc::Status::OK);
    } else if (changed) {
      writing_ = true;
      this->StartWrite(&response_);
    } else if (last) {
      finished_ = true;
      this->Finish(grpc::Status::OK);
    }
  }

  void End(const absl::Status& status) override {
    MutexLock lock(&mu_);
    end_status_ = status;
    MaybeFinish();
  }
  void Abort() override {
    MutexLock lock(&mu_);
    if (self_ != nullptr) {
      context_->TryCancel();
    }
  }

 private:
  void OnWriteDone(bool ok) override {
    MutexLock lock(&mu_);
    writing_ = false;
    if (!ok) {
      end_status_ = absl::CancelledError("the reader is gone");
    }
    MaybeFinish();
  }
  void OnCancel() override {
    MutexLock lock(&mu_);
    end_status_ = absl::CancelledError("the reader is gone");
    MaybeFinish();
  }
  void OnDone() override {
    std::shared_ptr<WatchReactor> self;  // Ends this object, after the lock.
    {
      MutexLock lock(&mu_);
      self.swap(self_);
    }
    on_done_(self);
  }
  void MaybeFinish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (end_status_.has_value() && !writing_ && !finished_) {
      finished_ = true;
      this->Finish(ToGrpcStatus(*end_status_));
    }
  }

  grpc::CallbackServerContext* const context_;  // valid until OnDone
  const Source source_;
  const std::function<void(const std::shared_ptr<Watch>&)> on_done_;

  Mutex mu_;
  // Until OnDone: gRPC holds a plain pointer.
  std::shared_ptr<WatchReactor> self_ ABSL_GUARDED_BY(mu_);
  Response response_ ABSL_GUARDED_BY(mu_);
  int64_t seen_ ABSL_GUARDED_BY(mu_) = 0;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  std::optional<absl::Status> end_status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace selari

#endif  // SELARI_SERVER_RPC_WATCH_REACTOR_H_
