#include "worker/client/server_link.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "common/error_reason.h"
#include "common/status.h"

namespace selari {
namespace {

// The threads on which gRPC 1.51 runs callbacks sleep for 100 ms after each
// second without one, in client and server alike: the first reply after a long
// step came 50 ms late on average. A frame that asks for nothing, more often
// than that, keeps one of them awake.
constexpr int64_t kHeartbeatMs = 400;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Codes after which the same call can only fail again.
bool IsPermanent(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

// No other attempt can succeed.
bool IsPermanent(const absl::Status& status) {
  switch (ReasonOf(status)) {
    case ErrorReason::kNotInitialized:
      return false;
    case ErrorReason::kWrongJob:
    case ErrorReason::kStaleIncarnation:
    case ErrorReason::kDuplicateId:
      return true;
    default:
      return IsPermanent(status.code());
  }
}

std::string NameOf(int32_t server_id, const std::string& address) {
  return absl::StrCat("server ", server_id, " at ", address);
}

// Keeps the payloads, which Annotate drops.
absl::Status Named(const absl::Status& status, const std::string& name) {
  absl::Status named = Annotate(status, name);
  status.ForEachPayload(
      [&named](absl::string_view url, const absl::Cord& value) {
        named.SetPayload(url, value);
      });
  return named;
}

}  // namespace

ServerLink::ServerLink(Options options, std::shared_ptr<grpc::Channel> channel,
                       ShardTransport::Listener* listener,
                       std::function<void()> changed)
    : options_(std::move(options)),
      listener_(listener),
      changed_(std::move(changed)),
      window_(options_.layout.get()),
      name_(NameOf(options_.server_id, options_.address)),
      hello_(options_.hello),
      channel_(std::move(channel)),
      since_ms_(options_.clock->NowMs()),
      next_attempt_ms_(since_ms_),
      backoff_(options_.backoff_first_ms, options_.backoff_max_ms,
               options_.hello.worker.incarnation),
      incarnation_(options_.incarnation) {}

int64_t ServerLink::Tick() {
  // Let go of without the lock: their end waits for gRPC's threads.
  std::vector<std::shared_ptr<grpc::Channel>> unused;
  MutexLock lock(&mu_);
  const int64_t now_ms = options_.clock->NowMs();
  if (state_ == State::kUp) {
    stream_->SendHeartbeat();
    return now_ms + kHeartbeatMs;
  }
  if (state_ != State::kDown) {
    return kNever;
  }
  if (now_ms < next_attempt_ms_) {
    return next_attempt_ms_;
  }
  if (!old_channels_.empty()) {
    if (open_streams_ > 0) {
      return now_ms + 1;  // its last callback is about to end
    }
    unused.swap(old_channels_);
  }
  state_ = State::kConnecting;
  ++open_streams_;
  stream_ = ClientStream::Start(channel_, hello_, options_.frame_bytes_max,
                                options_.shared_memory, this);
  return kNever;
}

void ServerLink::MoveTo(const std::string& address, uint64_t incarnation,
                        std::shared_ptr<grpc::Channel> channel) {
  {
    MutexLock lock(&mu_);
    if (state_ == State::kFailed || state_ == State::kStopped) {
      return;
    }
    name_ = NameOf(options_.server_id, address);
    incarnation_ = incarnation;
    old_channels_.push_back(std::move(channel_));
    channel_ = std::move(channel);
    error_ = absl::OkStatus();
    backoff_.Reset();
    next_attempt_ms_ = options_.clock->NowMs();
    if (state_ == State::kUp) {
      since_ms_ = next_attempt_ms_;
    }
    if (stream_ != nullptr) {
      // Nothing is sent or taken until OnEnd has made the link down.
      state_ = State::kMoving;
      held_back_.clear();
      window_.Open();
      stream_->Cancel();
    }
  }
  changed_();
}

void ServerLink::set_shard_map_version(int64_t version) {
  MutexLock lock(&mu_);
  hello_.shard_map_version = version;
}

std::string ServerLink::name() const {
  MutexLock lock(&mu_);
  return name_;
}

std::string ServerLink::Trouble() const {
  MutexLock lock(&mu_);
  return error_.ok() ? absl::StrCat(name_, " does not answer")
                     : std::string(error_.message());
}

void ServerLink::Send(std::vector<ShardRequest> requests) {
  MutexLock lock(&mu_);
  if (state_ == State::kUp) {
    SendLocked(std::move(requests));
  } else if (state_ == State::kResending) {
    std::move(requests.begin(), requests.end(), std::back_inserter(held_back_));
  }
}

void ServerLink::SendLocked(std::vector<ShardRequest> requests) {
  window_.CountSent(requests);
  stream_->Send(std::move(requests));
}

void ServerLink::StopWaiting() {
  MutexLock lock(&mu_);
  stop_waiting_ = true;
  window_.Open();
}

void ServerLink::Stop() {
  MutexLock lock(&mu_);
  state_ = State::kStopped;
  window_.Open();
  if (stream_ != nullptr) {
    stream_->Cancel();
  }
  while (open_streams_ > 0) {
    stopped_.Wait(&mu_);
  }
}

ServerLink::Status ServerLink::status() const {
  MutexLock lock(&mu_);
  return {state_, since_ms_,
          state_ == State::kFailed ? error_ : absl::OkStatus(), shares_memory_};
}

TransportStats ServerLink::Stats() const {
  MutexLock lock(&mu_);
  TransportStats stats = ended_stats_;
  if (stream_ != nullptr) {
    stream_->AddStats(&stats);
  }
  return stats;
}

absl::Status ServerLink::OnFrame(ReplyFrame frame) {
  bool up = false;
  {
    MutexLock lock(&mu_);
    up = state_ == State::kUp;
    if (!up && state_ != State::kConnecting) {
      return absl::OkStatus();
    }
  }
  if (!up) {
    return frame.hello.has_value()
               ? TakeHello(*frame.hello)
               : absl::InvalidArgumentError("the first reply has no hello");
  }
  window_.CountAnswered(frame.replies);
  listener_->OnReplies(std::move(frame.replies));
  return absl::OkStatus();
}

absl::Status ServerLink::TakeHello(const StreamHelloReply& reply) {
  {
    MutexLock lock(&mu_);
    SELARI_RETURN_IF_ERROR(CheckHello(reply));
    state_ = State::kResending;
    incarnation_ = reply.server_incarnation;
    shares_memory_ =
        reply.shared_memory_opened && options_.shared_memory != nullptr;
    if (shares_memory_) {
      stream_->UseSharedMemory();
    }
    window_.Start(std::max<int64_t>(reply.window_bytes, 1));
    if (stop_waiting_) {
      window_.Open();
    }
    held_back_.clear();
  }
  std::vector<ShardRequest> unanswered =
      listener_->OnConnected(options_.shards);
  {
    MutexLock lock(&mu_);
    if (state_ != State::kResending) {
      return absl::OkStatus();
    }
    SendLocked(std::move(unanswered));
    SendLocked(std::move(held_back_));
    held_back_.clear();
    state_ = State::kUp;
    error_ = absl::OkStatus();
    backoff_.Reset();
  }
  changed_();
  return absl::OkStatus();
}

absl::Status ServerLink::CheckHello(const StreamHelloReply& reply) {
  if (incarnation_ != 0 && reply.server_incarnation != incarnation_) {
    return Restarted(reply.server_incarnation);
  }
  for (const int32_t shard : options_.shards) {
    if (std::find(reply.shards.begin(), reply.shards.end(), shard) ==
        reply.shards.end()) {
      return absl::UnavailableError(
          absl::StrCat("it does not host shard ", shard, " yet"));
    }
  }
  return absl::OkStatus();
}

absl::Status ServerLink::Restarted(uint64_t incarnation) const {
  const std::string restarted =
      absl::StrCat("it restarted (its incarnation is ", incarnation, ", was ",
                   incarnation_, ")");
  if (options_.server_may_return) {
    return absl::UnavailableError(
        absl::StrCat(restarted, " and is getting its weights back"));
  }
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        restarted, "; its weights are gone until restored")),
                    ErrorReason::kStaleIncarnation);
}

absl::Status ServerLink::Explained(const absl::Status& status) const {
  uint64_t incarnation = 0;
  if (incarnation_ == 0 ||
      !absl::SimpleAtoi(ReasonMetadata("server_incarnation", status),
                        &incarnation) ||
      incarnation == incarnation_) {
    return status;
  }
  // A server that had weights and has none now must not be waited for unless
  // it gets them back: it would come with initial ones.
  if (ReasonOf(status) == ErrorReason::kNotInitialized) {
    return Restarted(incarnation);
  }
  return options_.server_may_return
             ? absl::UnavailableError(absl::StrCat(
                   "another server answers there: ", status.message()))
             : status;
}

void ServerLink::OnEnd(const absl::Status& status) {
  bool tell = false;
  {
    MutexLock lock(&mu_);
    stream_->AddStats(&ended_stats_);
    stream_ = nullptr;
    if (state_ == State::kMoving) {
      tell = true;
      state_ = State::kDown;
    } else if (state_ != State::kStopped) {
      tell = true;
      if (state_ == State::kUp) {
        since_ms_ = options_.clock->NowMs();
      }
      const absl::Status explained = Explained(status);
      state_ = IsPermanent(explained) ? State::kFailed : State::kDown;
      error_ = Named(explained, name_);
      next_attempt_ms_ = options_.clock->NowMs() + backoff_.NextMs();
      window_.Open();
    }
  }
  if (tell) {
    changed_();
  }
}

void ServerLink::OnGone() {
  MutexLock lock(&mu_);
  --open_streams_;
  stopped_.NotifyAll();
}

}  // namespace selari
