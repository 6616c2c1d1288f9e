#include "cli/bench/byte_stream_service.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "common/mutex.h"
#include "grpcpp/impl/codegen/server_callback_handlers.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "grpcpp/support/slice.h"

namespace selari {
namespace {

using Reactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

std::string Metadata(const grpc::CallbackServerContext& context,
                     const char* key) {
  const auto found = context.client_metadata().find(key);
  return found == context.client_metadata().end()
             ? ""
             : std::string(found->second.data(), found->second.size());
}

// Reads on while the frame before is on its way back.
class Echo final : public Reactor {
 public:
  Echo() { StartRead(&incoming_); }

  void OnReadDone(bool ok) override {
    MutexLock lock(&mu_);
    if (!ok) {
      read_ended_ = true;
      if (!writing_) {
        FinishOnce();
      }
    } else if (writing_) {
      waiting_ = true;
    } else {
      Write();
    }
  }
  void OnWriteDone(bool ok) override {
    MutexLock lock(&mu_);
    writing_ = false;
    if (read_ended_ || !ok) {
      FinishOnce();
    } else if (waiting_) {
      waiting_ = false;
      Write();
    }
  }
  void OnDone() override { delete this; }

 private:
  void Write() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    outgoing_.Swap(&incoming_);
    incoming_.Clear();
    writing_ = true;
    StartWrite(&outgoing_);
    StartRead(&incoming_);
  }
  void FinishOnce() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!std::exchange(finished_, true)) {
      Finish(grpc::Status::OK);
    }
  }

  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer outgoing_;
  Mutex mu_;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool waiting_ ABSL_GUARDED_BY(mu_) = false;
  bool read_ended_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
};

// One reaction at a time, so no lock.
class Sink final : public Reactor {
 public:
  explicit Sink(int64_t bytes) : left_(bytes) { StartRead(&frame_); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    left_ -= static_cast<int64_t>(frame_.Length());
    frame_.Clear();
    if (left_ > 0) {
      StartRead(&frame_);
    } else {
      frame_ = FrameOf(nullptr, 0);
      StartWriteAndFinish(&frame_, grpc::WriteOptions(), grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

 private:
  int64_t left_;
  grpc::ByteBuffer frame_;
};

// One reaction at a time, so no lock.
class Source final : public Reactor {
 public:
  Source(const char* memory, int64_t bytes, int64_t frame_bytes)
      : memory_(memory), frame_bytes_(frame_bytes), left_(bytes) {
    Next();
  }

  void OnWriteDone(bool ok) override {
    if (ok && left_ > 0) {
      Next();
    } else {
      Finish(grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

 private:
  void Next() {
    const int64_t size = std::min(frame_bytes_, left_);
    left_ -= size;
    frame_ = FrameOf(memory_, size);
    StartWrite(&frame_);
  }

  const char* const memory_;
  const int64_t frame_bytes_;
  int64_t left_;
  grpc::ByteBuffer frame_;
};

class Refusal final : public Reactor {
 public:
  Refusal() {
    Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                        "no such mode, number of bytes or frame size"));
  }
  void OnDone() override { delete this; }
};

Reactor* Start(const grpc::CallbackServerContext& context, const char* memory) {
  const std::string mode = Metadata(context, kByteStreamModeKey);
  if (mode == "echo") {
    return new Echo;
  }
  int64_t bytes = 0;
  int64_t frame_bytes = 0;
  if (!absl::SimpleAtoi(Metadata(context, kByteStreamBytesKey), &bytes) ||
      !absl::SimpleAtoi(Metadata(context, kByteStreamFrameKey), &frame_bytes) ||
      bytes <= 0 || frame_bytes <= 0 || frame_bytes > kByteStreamFrameMax) {
    return new Refusal;
  }
  if (mode == "sink") {
    return new Sink(bytes);
  }
  if (mode == "source") {
    return new Source(memory, bytes, frame_bytes);
  }
  return new Refusal;
}

}  // namespace

// What protoc would generate for a method of raw frames; a .proto of it would
// put a benchmark into the product's contract.
ByteStreamService::ByteStreamService()
    : memory_(static_cast<size_t>(kByteStreamFrameMax), 'x') {
  AddMethod(new grpc::internal::RpcServiceMethod(
      kByteStreamMethod, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(
      0, new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer,
                                                 grpc::ByteBuffer>(
             [this](grpc::CallbackServerContext* context) {
               return Start(*context, memory_.data());
             }));
}

grpc::ByteBuffer FrameOf(const char* memory, int64_t size) {
  const grpc::Slice slice(memory, static_cast<size_t>(size),
                          grpc::Slice::STATIC_SLICE);
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace selari
