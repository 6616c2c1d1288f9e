#include "cli/bench/byte_stream_client.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "cli/bench/byte_stream_service.h"
#include "common/grpc_channel.h"
#include "common/grpc_status.h"
#include "common/mutex.h"
#include "grpcpp/client_context.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/support/client_callback.h"

namespace selari {
namespace {

using Stub = grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

// No stream moves less than this within the deadline, or it stands still.
constexpr int64_t kBytesPerSecondMin = 1 << 20;
constexpr int64_t kDeadlineSecondsMin = 60;

}  // namespace

// One call: writes its frames as fast as they go, and counts what it reads.
class ByteStreamClient::Stream final
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  struct Plan {
    const char* memory = nullptr;
    int64_t frame_bytes = 0;
    int64_t send_bytes = 0;
    int64_t receive_bytes = 0;
  };

  Stream(const std::shared_ptr<grpc::Channel>& channel, const char* mode,
         int64_t bytes, const Plan& plan, int64_t deadline_s)
      : stub_(channel), plan_(plan), send_left_(plan.send_bytes) {
    context_.AddMetadata(kByteStreamModeKey, mode);
    context_.AddMetadata(kByteStreamBytesKey, std::to_string(bytes));
    context_.AddMetadata(kByteStreamFrameKey, std::to_string(plan.frame_bytes));
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(deadline_s));
    stub_.PrepareBidiStreamingCall(&context_, kByteStreamMethod, {}, this);
    // Pings are written outside of reactions.
    AddHold();
    StartRead(&incoming_);
    WriteNext();
    StartCall();
  }
  ~Stream() override {
    context_.TryCancel();
    ReleaseHold();
    MutexLock lock(&mu_);
    while (!done_) {
      changed_.Wait(&mu_);
    }
  }

  // Waits for the end of the call.
  absl::Status Finish() {
    ReleaseHold();
    MutexLock lock(&mu_);
    while (!done_) {
      changed_.Wait(&mu_);
    }
    if (status_.ok() && received_ < plan_.receive_bytes) {
      return absl::UnavailableError("the stream of bytes ended early");
    }
    return status_;
  }

  absl::Status Ping() {
    MutexLock lock(&mu_);
    const int64_t frames = frames_;
    outgoing_ = FrameOf(plan_.memory, plan_.frame_bytes);
    writing_ = true;
    StartWrite(&outgoing_);
    // The answer may be here before the write is said to be done, and only
    // then may the next one start.
    while ((frames == frames_ || writing_) && !read_ended_) {
      changed_.Wait(&mu_);
    }
    return read_ended_ ? absl::UnavailableError("the stream of bytes broke")
                       : absl::OkStatus();
  }

  void OnReadDone(bool ok) override {
    {
      MutexLock lock(&mu_);
      received_ += ok ? static_cast<int64_t>(incoming_.Length()) : 0;
      frames_ += ok ? 1 : 0;
      read_ended_ = !ok;
      if (!ok || !writing_) {
        changed_.NotifyAll();
      }
    }
    if (ok) {
      incoming_.Clear();
      StartRead(&incoming_);
    }
  }
  void OnWriteDone(bool ok) override {
    if (plan_.send_bytes == 0) {
      MutexLock lock(&mu_);
      writing_ = false;
      changed_.NotifyAll();
    } else if (ok) {
      WriteNext();
    }
  }
  void OnDone(const grpc::Status& status) override {
    MutexLock lock(&mu_);
    status_ = FromGrpcStatus(status);
    done_ = true;
    read_ended_ = true;
    changed_.NotifyAll();
  }

 private:
  void WriteNext() {
    if (plan_.send_bytes == 0) {
      return;
    }
    if (send_left_ == 0) {
      StartWritesDone();
      return;
    }
    const int64_t size = std::min(plan_.frame_bytes, send_left_);
    send_left_ -= size;
    outgoing_ = FrameOf(plan_.memory, size);
    StartWrite(&outgoing_);
  }

  void ReleaseHold() {
    if (!std::exchange(hold_released_, true)) {
      RemoveHold();
    }
  }

  Stub stub_;
  grpc::ClientContext context_;
  const Plan plan_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  // Used by one write after the other.
  int64_t send_left_;
  // Used by the calling thread only.
  bool hold_released_ = false;

  Mutex mu_;
  CondVar changed_;
  int64_t received_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t frames_ ABSL_GUARDED_BY(mu_) = 0;
  bool read_ended_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;  // a ping
  bool done_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

ByteStreamClient::ByteStreamClient(const std::string& address)
    : channel_(CreateGrpcChannel(address, /*credentials=*/nullptr)),
      memory_(static_cast<size_t>(kByteStreamFrameMax), 'x') {}

ByteStreamClient::~ByteStreamClient() = default;

absl::Status ByteStreamClient::Run(const char* mode, int64_t bytes,
                                   int64_t frame_bytes, int64_t send_bytes,
                                   int64_t receive_bytes) {
  Stream stream(channel_, mode, bytes,
                {memory_.data(), frame_bytes, send_bytes, receive_bytes},
                kDeadlineSecondsMin + bytes / kBytesPerSecondMin);
  return stream.Finish();
}

absl::Status ByteStreamClient::Send(int64_t bytes, int64_t frame_bytes) {
  return Run("sink", bytes, frame_bytes, bytes, 0);
}

absl::Status ByteStreamClient::Receive(int64_t bytes, int64_t frame_bytes) {
  return Run("source", bytes, frame_bytes, 0, bytes);
}

absl::Status ByteStreamClient::Exchange(int64_t bytes, int64_t frame_bytes) {
  return Run("echo", bytes, frame_bytes, bytes, bytes);
}

absl::Status ByteStreamClient::PingPong(int64_t bytes) {
  if (ping_ == nullptr) {
    constexpr int64_t kPingDeadlineS = 3600;
    ping_ = std::make_unique<Stream>(channel_, "echo", bytes,
                                     Stream::Plan{memory_.data(), bytes, 0, 0},
                                     kPingDeadlineS);
  }
  return ping_->Ping();
}

}  // namespace selari
