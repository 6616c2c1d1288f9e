#include "worker/client/client_stream.h"

#include <utility>

#include "common/grpc_status.h"

namespace selari {
namespace {

constexpr char kMethod[] = "/selari.v1.ParameterService/StreamParameters";

}  // namespace

std::shared_ptr<ClientStream> ClientStream::Start(
    const std::shared_ptr<grpc::Channel>& channel, const StreamHello& hello,
    int64_t frame_bytes_max, std::shared_ptr<SharedMemory> shared,
    Owner* owner) {
  std::shared_ptr<ClientStream> stream(
      new ClientStream(channel, frame_bytes_max, std::move(shared), owner));
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

void ClientStream::UseSharedMemory() {
  MutexLock lock(&mu_);
  sharing_ = true;
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
    WriteRequests();
  }
}

void ClientStream::SendHeartbeat() {
  MutexLock lock(&mu_);
  if (!ended_ && !writing_) {
    Write(EncodeHeartbeat());
  }
}

void ClientStream::Cancel() { context_.TryCancel(); }

void ClientStream::AddStats(TransportStats* stats) const {
  MutexLock lock(&mu_);
  stats->bytes_sent += stats_.bytes_sent;
  stats->bytes_received += stats_.bytes_received;
  stats->bytes_shared += stats_.bytes_shared;
}

void ClientStream::OnReadDone(bool ok) {
  if (ok) {
    auto frame = DecodeReplies(read_frame_, shared_);
    {
      MutexLock lock(&mu_);
      const int64_t shared_bytes = frame.ok() ? frame->shared_bytes : 0;
      stats_.bytes_received +=
          static_cast<int64_t>(read_frame_.Length()) + shared_bytes;
      stats_.bytes_shared += shared_bytes;
    }
    read_frame_.Clear();
    const absl::Status taken =
        frame.ok() ? owner_->OnFrame(*std::move(frame)) : frame.status();
    if (!taken.ok()) {
      MutexLock lock(&mu_);
      // The first one counts: what follows is the rest of a broken call.
      if (failure_.ok()) {
        failure_ = taken;
      }
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
    WriteRequests();
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

void ClientStream::WriteRequests() {
  EncodedFrame frame = EncodeRequests(frame_bytes_max_, &queue_,
                                      sharing_ ? shared_.get() : nullptr);
  stats_.bytes_sent += frame.shared_bytes;
  stats_.bytes_shared += frame.shared_bytes;
  Write(frame.bytes);
}

void ClientStream::Write(const grpc::ByteBuffer& frame) {
  writing_ = true;
  stats_.bytes_sent += static_cast<int64_t>(frame.Length());
  write_frame_ = frame;
  StartWrite(&write_frame_);
}

}  // namespace selari
