#include "cli/bench/raw_server.h"

#include <algorithm>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/status.h"

namespace selari {

// Elements [0, complete) of the model are updated and may be sent. With a
// sender of its own a thread waits here, otherwise Advance sends.
class RawServer::Progress {
 public:
  Progress(Socket* socket, const float* weights, bool own_sender)
      : socket_(*socket), weights_(weights) {
    if (own_sender) {
      sender_ = std::thread([this] { Run(); });
    }
  }
  ~Progress() {
    if (!finished_) {
      socket_.Shutdown();  // the sender may wait for a peer that has gone
    }
    if (sender_.joinable()) {
      Advance(kGivenUp).IgnoreError();
      sender_.join();
    }
  }

  // Waits until `floats`, which is all, are sent.
  absl::Status Finish(int64_t floats) {
    SELARI_RETURN_IF_ERROR(Advance(floats));
    if (sender_.joinable()) {
      MutexLock lock(&mu_);
      while (sent_ < floats && status_.ok()) {
        changed_.Wait(&mu_);
      }
      SELARI_RETURN_IF_ERROR(status_);
    }
    finished_ = true;
    return absl::OkStatus();
  }

  absl::Status Advance(int64_t complete) {
    if (!sender_.joinable()) {
      absl::Status sent = SendRange(sent_unlocked_, complete);
      sent_unlocked_ = complete;
      return sent;
    }
    MutexLock lock(&mu_);
    complete_ = complete;
    changed_.NotifyAll();
    return status_;
  }

 private:
  static constexpr int64_t kGivenUp = -1;

  absl::Status SendRange(int64_t begin, int64_t end) {
    return socket_.Send(weights_ + begin,
                        (end - begin) * int64_t{sizeof(float)});
  }

  void Run() {
    MutexLock lock(&mu_);
    while (status_.ok() && complete_ != kGivenUp) {
      if (complete_ == sent_) {
        changed_.Wait(&mu_);
        continue;
      }
      const int64_t begin = sent_;
      const int64_t end = complete_;
      mu_.Unlock();
      const absl::Status sent = SendRange(begin, end);
      mu_.Lock();
      sent_ = end;
      status_ = sent;
      changed_.NotifyAll();
    }
  }

  Socket& socket_;
  const float* const weights_;
  // Used by the thread that owns this only.
  bool finished_ = false;
  int64_t sent_unlocked_ = 0;  // without a sender
  std::thread sender_;

  Mutex mu_;
  CondVar changed_;
  int64_t complete_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t sent_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

RawServer::RawServer(const WireShape& shape,
                     std::shared_ptr<const ShardJob> job)
    : shape_(shape),
      job_(std::move(job)),
      barrier_(shape.workers),
      connections_(static_cast<size_t>(shape.workers)) {}

RawServer::~RawServer() {
  barrier_.Break();
  for (const auto& connection : connections_) {
    if (connection != nullptr) {
      connection->socket.Shutdown();
    }
  }
  for (const auto& connection : connections_) {
    if (connection != nullptr) {
      connection->thread.join();
    }
  }
}

absl::Status RawServer::Join(int32_t worker, Socket socket) {
  absl::Status status;
  if (worker < 0 || worker >= shape_.workers) {
    status = absl::InvalidArgumentError(
        absl::StrCat("there is no worker ", worker, " among ", shape_.workers));
  } else if (connections_[worker] != nullptr) {
    status = absl::AlreadyExistsError(
        absl::StrCat("worker ", worker, " has a connection already"));
  }
  if (status.ok() && model_ == nullptr) {
    model_ = std::make_unique<RawModel>(job_, shape_.floats);
  }
  SELARI_RETURN_IF_ERROR(SendRawReply(&socket, status, {}));
  SELARI_RETURN_IF_ERROR(status);
  connections_[worker].reset(new Connection(std::move(socket)));
  connections_[worker]->thread = std::thread([this, worker] { Serve(worker); });
  return absl::OkStatus();
}

void RawServer::Serve(int32_t worker) {
  Socket& socket = connections_[worker]->socket;
  absl::Status status;
  while (status.ok()) {
    // Other ways are measured meanwhile: this one waits as long as it takes.
    socket.WaitReadable(-1);
    const absl::StatusOr<RawRequest> request = ReceiveRawRequest(&socket);
    status = request.ok() ? Handle(worker, *request) : request.status();
  }
  // The other workers' blocks will never be complete.
  barrier_.Break();
  socket.Shutdown();
}

absl::Status RawServer::Handle(int32_t worker, const RawRequest& request) {
  Socket& socket = connections_[worker]->socket;
  switch (request.op) {
    case RawOp::kReset:
      // All workers ask for it and wait for the answer.
      SELARI_RETURN_IF_ERROR(Arrive());
      if (worker == 0) {
        model_->Reset();
      }
      SELARI_RETURN_IF_ERROR(Arrive());
      return SendRawReply(&socket, absl::OkStatus(), {});
    case RawOp::kPush:
      SELARI_RETURN_IF_ERROR(Update(worker, request, nullptr));
      return SendRawReply(&socket, absl::OkStatus(), {});
    case RawOp::kPull:
      return socket.Send(model_->weights(), shape_.bytes());
    case RawOp::kBoth:
      return PushAndPull(worker, request);
    default:
      return absl::InvalidArgumentError("no request for a data connection");
  }
}

absl::Status RawServer::PushAndPull(int32_t worker, const RawRequest& request) {
  Progress progress(&connections_[worker]->socket, model_->weights(),
                    request.manner.own_sender);
  SELARI_RETURN_IF_ERROR(Update(worker, request, &progress));
  return progress.Finish(shape_.floats);
}

absl::Status RawServer::Arrive() {
  return barrier_.Arrive()
             ? absl::OkStatus()
             : absl::CancelledError("another worker's connection ended");
}

absl::Status RawServer::Update(int32_t worker, const RawRequest& request,
                               Progress* progress) {
  Connection& connection = *connections_[worker];
  const int64_t block_floats =
      request.manner.block_bytes / int64_t{sizeof(float)};
  for (auto& block : connection.blocks) {
    if (block == nullptr || block->size() != block_floats) {
      block = FloatBuffer::Allocate(block_floats);
    }
  }
  int block = 0;
  for (int64_t first = 0; first < shape_.floats; first += block_floats) {
    const int64_t n = std::min(block_floats, shape_.floats - first);
    SELARI_RETURN_IF_ERROR(connection.socket.Receive(
        connection.blocks[block]->data(), n * int64_t{sizeof(float)}));
    // All have received this block and applied their parts of the one before.
    SELARI_RETURN_IF_ERROR(Arrive());
    if (progress != nullptr && shape_.workers > 1) {
      SELARI_RETURN_IF_ERROR(progress->Advance(first));
    }
    ApplyPart(worker, request.step, first, n, block);
    if (progress != nullptr && shape_.workers == 1) {
      SELARI_RETURN_IF_ERROR(progress->Advance(first + n));
    }
    block = 1 - block;
  }
  return Arrive();
}

void RawServer::ApplyPart(int32_t worker, int64_t step, int64_t first,
                          int64_t n, int block) {
  const int64_t begin = n * worker / shape_.workers;
  const int64_t end = n * (worker + 1) / shape_.workers;
  std::vector<const float*> contributions;
  for (const auto& connection : connections_) {
    contributions.push_back(connection->blocks[block]->data() + begin);
  }
  model_->Apply(step, first + begin, end - begin, contributions);
}

}  // namespace selari
