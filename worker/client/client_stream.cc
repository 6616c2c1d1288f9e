#include "worker/client/client_stream.h"

#include <utility>

#include "common/grpc_status.h"

namespace selari {
namespace {

constexpr char kMethod[] = "/selari.v1.ParameterService/StreamParameters";

}  // namespace

std::shared_ptr<ClientStream> ClientStream::Start(
    const std::shared_ptr<grpc::Channel>& channel, const StreamHello& hello,
    int64_t frame_bytes_max, Owner* owner) {
  std::shared_ptr<ClientStream> stream(
      new ClientStream(channel, frame_bytes_max, owner));
  // A stream has no deadline; the channel's keepalive notices a dead peer.
  stream->context_.set_wait_for_ready(true);
  stream->stub_.PrepareBidiStreamingCall(&stream->context_, kMethod,
                                         grpc::StubOptions(), stream.get());
  MutexLock lock(&stream->mu_);
  stream->self_ = stream;
  // Writes start outside of reactions: the hold keeps OnDone away until the
  // read side has seen the end.
  stream->AddHold();
  stream->Write(EncodeHello(hello));
  stream->StartRead(&stream->read_frame_);
  stream->StartCall();
  return stream;
}

void ClientStream::Send(std::vector<ShardRequest> requests) {
  MutexLock lock(&mu_);
  if (ended_) {
    return;
  }
  for (ShardRequest& request : requests) {
    queue_.push_back(std::move(request));
  }
  if (!writing_ && !queue_.empty()) {
    Write(EncodeRequests(frame_bytes_max_, &queue_).bytes);
  }
}

void ClientStream::SendHeartbeat() {
  MutexLock lock(&mu_);
  if (!ended_ && !writing_) {
    Write(EncodeHeartbeat());
  }
}

void ClientStream::Cancel() { context_.TryCancel(); }

int64_t ClientStream::bytes_sent() const {
  MutexLock lock(&mu_);
  return bytes_sent_;
}

int64_t ClientStream::bytes_received() const {
  MutexLock lock(&mu_);
  return bytes_received_;
}

void ClientStream::OnReadDone(bool ok) {
  if (ok) {
    {
      MutexLock lock(&mu_);
      bytes_received_ += static_cast<int64_t>(read_frame_.Length());
    }
    auto frame = DecodeReplies(read_frame_);
    read_frame_.Clear();
    const absl::Status taken =
        frame.ok() ? owner_->OnFrame(*std::move(frame)) : frame.status();
    if (!taken.ok()) {
      MutexLock lock(&mu_);
      failure_ = taken;
      context_.TryCancel();
    }
    // After a cancel the next read fails and ends the stream.
    StartRead(&read_frame_);
    return;
  }
  {
    MutexLock lock(&mu_);
    ended_ = true;
    queue_.clear();
  }
  RemoveHold();
}

void ClientStream::OnWriteDone(bool ok) {
  MutexLock lock(&mu_);
  writing_ = false;
  write_frame_.Clear();
  if (!ok || ended_) {
    queue_.clear();
    return;
  }
  if (!queue_.empty()) {
    Write(EncodeRequests(frame_bytes_max_, &queue_).bytes);
  }
}

void ClientStream::OnDone(const grpc::Status& status) {
  std::shared_ptr<ClientStream> self;
  absl::Status end = FromGrpcStatus(status);
  {
    MutexLock lock(&mu_);
    self = std::move(self_);
    if (!failure_.ok()) {
      end = failure_;
    }
  }
  Owner* const owner = owner_;
  owner->OnEnd(end);
  self.reset();  // the end of *this
  owner->OnGone();
}

void ClientStream::Write(grpc::ByteBuffer frame) {
  writing_ = true;
  bytes_sent_ += static_cast<int64_t>(frame.Length());
  write_frame_ = std::move(frame);
  StartWrite(&write_frame_);
}

}  // namespace selari
