#include "server/rpc/parameter_stream.h"

#include <utility>
#include <variant>

#include "common/grpc_status.h"
#include "common/status.h"
#include "server/rpc/hello_check.h"

namespace selari {
namespace {

constexpr int64_t kCorkedBytesMax = 64 << 10;

// Pushes and pulls: each is answered once by the shards.
int64_t CountAnswerable(const std::vector<ShardRequest>& requests) {
  int64_t count = 0;
  for (const ShardRequest& request : requests) {
    count += std::holds_alternative<ReductionTotals>(request) ? 0 : 1;
  }
  return count;
}

int64_t SumOfGradientBytes(const std::vector<ShardRequest>& requests) {
  int64_t bytes = 0;
  for (const ShardRequest& request : requests) {
    bytes += GradientBytes(request);
  }
  return bytes;
}

}  // namespace

ParameterStream* ParameterStream::Start(const StreamSettings& settings,
                                        grpc::CallbackServerContext* context) {
  std::shared_ptr<ParameterStream> stream(
      new ParameterStream(settings, context));
  const absl::Status added = settings.live_calls->Add(stream);
  MutexLock lock(&stream->mu_);
  stream->self_ = stream;
  stream->registered_ = added.ok();
  if (!added.ok()) {
    stream->end_ = added;
  }
  stream->Advance();
  return stream.get();
}

void ParameterStream::OnReplies(std::vector<ShardReply> replies) {
  WriteWeights(&replies);
  MutexLock lock(&mu_);
  for (const ShardReply& reply : replies) {
    unanswered_ -= std::holds_alternative<ReductionPartials>(reply) ? 0 : 1;
  }
  Enqueue(std::move(replies));
  Advance();
}

void ParameterStream::WriteWeights(std::vector<ShardReply>* replies) const {
  for (ShardReply& reply : *replies) {
    auto* const value = std::get_if<ChunkValue>(&reply);
    // A place of another size is left alone; the weights go in the message.
    if (value != nullptr && !value->into.empty() &&
        static_cast<int64_t>(value->into.size()) == value->weights.size()) {
      float* const place = value->into.data();
      value->weights.Copy(0, value->weights.size(), place);
      value->weights = {place, value->weights.size(), shared_};
    }
  }
}

void ParameterStream::OnHandled(int64_t gradient_bytes) {
  MutexLock lock(&mu_);
  incoming_bytes_ -= gradient_bytes;
  Advance();
}

void ParameterStream::End(const absl::Status& status) {
  MutexLock lock(&mu_);
  if (!end_.has_value()) {
    end_ = status;
  }
  Advance();
}

void ParameterStream::Abort() {
  MutexLock lock(&mu_);
  if (context_ != nullptr) {
    context_->TryCancel();
  }
}

void ParameterStream::OnReadDone(bool ok) {
  absl::Status status;
  if (ok) {
    auto frame = DecodeRequests(read_frame_, shared_);
    read_frame_.Clear();
    status = frame.ok() ? TakeFrame(*std::move(frame)) : frame.status();
  }
  MutexLock lock(&mu_);
  reading_ = false;
  half_closed_ = half_closed_ || !ok;
  if (!status.ok() && !end_.has_value()) {
    end_ = status;
  }
  Advance();
}

void ParameterStream::OnWriteDone(bool ok) {
  MutexLock lock(&mu_);
  writing_ = false;
  write_frame_.Clear();
  if (!ok && !end_.has_value()) {
    end_ = absl::CancelledError("the client is gone");
  }
  Advance();
}

void ParameterStream::OnCancel() {
  End(absl::CancelledError("the call was cancelled"));
}

void ParameterStream::OnDone() {
  // The reads are over, so nobody else touches the session any more.
  if (session_.has_value()) {
    settings_.host->Disconnect(*session_);
  }
  std::shared_ptr<ParameterStream> self;
  bool registered = false;
  {
    MutexLock lock(&mu_);
    self = std::move(self_);
    registered = registered_;
    context_ = nullptr;
    queue_.clear();
  }
  if (registered) {
    settings_.live_calls->Remove(self);
  }
}

absl::Status ParameterStream::TakeFrame(RequestFrame frame) {
  return session_.has_value() ? TakeRequests(std::move(frame))
                              : TakeHello(frame);
}

absl::Status ParameterStream::TakeHello(const RequestFrame& frame) {
  if (!frame.hello.has_value() || !frame.requests.empty() ||
      !frame.refused.empty()) {
    return absl::InvalidArgumentError(
        "the first request must hold hello and nothing else");
  }
  const auto job = settings_.host->job();
  absl::Status allowed =
      CheckCaller(job.get(), frame.hello->job_id, frame.hello->worker);
  if (!allowed.ok()) {
    // Lets a client tell a restarted server from one that starts late.
    SetReasonMetadata("server_incarnation",
                      absl::StrCat(settings_.server_incarnation), &allowed);
    return allowed;
  }
  StreamHelloReply reply;
  reply.server_incarnation = settings_.server_incarnation;
  reply.shards = settings_.host->shards();
  reply.window_bytes = WindowBytes(*job, reply.shards);
  if (frame.hello->shared_memory.has_value() &&
      job->resolved.job().cluster().shared_memory() !=
          v1::SHARED_MEMORY_USE_OFF) {
    // An offer of another machine, user or container cannot be opened: then
    // tensors travel in messages.
    auto shared =
        SharedMemory::Borrow(*frame.hello->shared_memory,
                             SharedMemory::BytesForModel(job->layout.floats()));
    reply.shared_memory_opened = shared.ok();
    shared_ = shared.ok() ? *std::move(shared) : nullptr;
  }
  // Replies that come from now on wait behind the hello.
  session_ = settings_.host->Connect(frame.hello->worker, shared_from_this());
  MutexLock lock(&mu_);
  if (!end_.has_value()) {
    greeted_ = true;
    Write(EncodeHelloReply(reply));
  }
  return absl::OkStatus();
}

absl::Status ParameterStream::TakeRequests(RequestFrame frame) {
  if (frame.hello.has_value()) {
    return absl::InvalidArgumentError("a second hello on one stream");
  }
  {
    MutexLock lock(&mu_);
    Enqueue({frame.refused.begin(), frame.refused.end()});
    unanswered_ += CountAnswerable(frame.requests);
    incoming_bytes_ += SumOfGradientBytes(frame.requests);
    submitting_ = true;
    if (unanswered_ > settings_.unanswered_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat(unanswered_, " requests of this stream are unanswered, ",
                       settings_.unanswered_max, " are allowed"));
    }
  }
  settings_.host->Submit(*session_, std::move(frame.requests));
  MutexLock lock(&mu_);
  submitting_ = false;
  return absl::OkStatus();
}

void ParameterStream::Enqueue(std::vector<ShardReply> replies) {
  if (end_.has_value()) {
    return;
  }
  for (ShardReply& reply : replies) {
    queue_bytes_ += WireBytes(reply, shared_.get());
    queue_.push_back(std::move(reply));
  }
}

void ParameterStream::Advance() {
  if (finished_) {
    return;
  }
  if (!writing_) {
    if (!end_.has_value() && half_closed_ && !reading_ && unanswered_ <= 0 &&
        queue_.empty()) {
      end_ = absl::OkStatus();
    }
    if (end_.has_value()) {
      finished_ = true;
      queue_.clear();
      Finish(ToGrpcStatus(*end_));
      return;
    }
    // What one frame asked for is answered in one frame if it is small.
    if (greeted_ && !queue_.empty() &&
        (!submitting_ || queue_bytes_ >= kCorkedBytesMax)) {
      EncodedFrame frame =
          EncodeReplies(kFrameBytesMax, &queue_, shared_.get());
      queue_bytes_ -= frame.wire_bytes;
      Write(frame.bytes);
    }
  }
  if (!reading_ && !half_closed_ && !end_.has_value() &&
      queue_bytes_ <= settings_.outgoing_bytes_max &&
      incoming_bytes_ <= settings_.incoming_bytes_max) {
    reading_ = true;
    StartRead(&read_frame_);
  }
}

void ParameterStream::Write(const grpc::ByteBuffer& frame) {
  writing_ = true;
  write_frame_ = frame;
  StartWrite(&write_frame_);
}

}  // namespace selari
