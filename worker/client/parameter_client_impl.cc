#include "worker/client/parameter_client_impl.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/chunk_layout.h"
#include "common/clock.h"
#include "common/job_layout.h"
#include "common/job_reduction.h"
#include "common/mutex.h"
#include "common/status.h"
#include "worker/client/gradient_compressor.h"
#include "worker/client/request_book.h"
#include "worker/client/step_clipper.h"

namespace selari {
namespace {

// Adds the time from construction to destruction to a counter.
class WaitTimer {
 public:
  explicit WaitTimer(int64_t* total_us)
      : total_us_(total_us), begin_(std::chrono::steady_clock::now()) {}
  ~WaitTimer() {
    *total_us_ += std::chrono::duration_cast<std::chrono::microseconds>(
                      std::chrono::steady_clock::now() - begin_)
                      .count();
  }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

 private:
  int64_t* const total_us_;
  const std::chrono::steady_clock::time_point begin_;
};

// Gradients of fewer bytes wait for the call that usually follows at once, so
// that a small step is one frame each way.
constexpr int64_t kHeldBytesMax = 16 << 10;

// mu_ is never held while the transport is called, but for NewBuffer, which
// calls nobody back.
class ParameterClientImpl final : public ParameterClient,
                                  private ShardTransport::Listener {
 public:
  ParameterClientImpl(const v1::ResolvedJob& job, ChunkLayout layout,
                      std::unique_ptr<ShardTransport> transport,
                      ParameterClientOptions options);
  ~ParameterClientImpl() override;

  absl::Status Connect();

  absl::StatusOr<int64_t> FindStep() override;
  void RequestPulls(int32_t begin, int32_t end, int64_t min_version) override;
  absl::StatusOr<absl::Span<const float>> WaitForTensor(
      int32_t tensor) override;
  absl::Status Push(int64_t step, TreeNode node, int32_t tensor,
                    std::shared_ptr<const FloatBuffer> gradient) override;
  absl::Status Flush() override;
  ClientStats Stats() const override;
  std::shared_ptr<FloatBuffer> NewBuffer(int64_t floats) override {
    return transport_->NewBuffer(floats);
  }

 private:
  void OnReplies(std::vector<ShardReply> replies) override;
  std::vector<ShardRequest> OnConnected(
      const std::vector<int32_t>& shards) override;
  void OnFailed(const absl::Status& status) override;

  struct TensorGradient {
    int32_t tensor;
    std::shared_ptr<const FloatBuffer> gradient;
  };
  // The pushes of a compressed job; none otherwise. Without the lock: it takes
  // as long as reading the gradients does.
  absl::StatusOr<std::vector<ChunkPush>> Encode(
      int64_t step, TreeNode node,
      const std::vector<TensorGradient>& gradients);
  bool TakeValue(const ChunkValue& value);
  // Hands the outbox to the transport. When another thread is doing so, it
  // takes ours along: so requests leave in the order of the outbox.
  void SendOutbox();
  // The thread that sends refused requests again when their time has come.
  void RunRetries();

  static constexpr int32_t kNoTensor = -1;
  // When a blocked call began and when it next says so.
  struct Wait {
    int64_t begin_ms = 0;
    int64_t next_report_ms = 0;
  };
  Wait BeginWait() const;
  // Waits for a change, or tells on_waiting when it is time for that.
  // `tensor`: what is pulled; kNoTensor: a flush.
  void WaitForChange(int32_t tensor, Wait* wait)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::vector<int64_t> tensor_sizes_;
  const std::unique_ptr<ShardTransport> transport_;
  const ParameterClientOptions options_;
  const SystemClock clock_;
  // Used by the calling thread only. Null unless this worker clips.
  std::unique_ptr<StepClipper> clipper_;
  // The same; null unless the job compresses.
  const std::unique_ptr<GradientCompressor> compressor_;

  mutable Mutex mu_;
  CondVar changed_;        // for whoever waits in a call
  CondVar retry_changed_;  // for the retry thread
  RequestBook book_ ABSL_GUARDED_BY(mu_);
  bool sending_ ABSL_GUARDED_BY(mu_) = false;
  // Gradients pushed since the outbox was last handed over.
  int64_t held_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  // Threads that wait for copies to end.
  int fill_waiters_ ABSL_GUARDED_BY(mu_) = 0;

  // Used by the calling thread only.
  int64_t pull_wait_us_ = 0;
  int64_t push_wait_us_ = 0;

  std::thread retry_thread_;
};

std::vector<int64_t> TensorSizes(const ChunkLayout& layout) {
  std::vector<int64_t> sizes;
  for (int32_t i = 0; i < layout.tensor_count(); ++i) {
    const ChunkSpec& last = layout.ChunksOfTensor(i).back();
    sizes.push_back(last.offset + last.count);
  }
  return sizes;
}

ParameterClientImpl::ParameterClientImpl(
    const v1::ResolvedJob& job, ChunkLayout layout,
    std::unique_ptr<ShardTransport> transport, ParameterClientOptions options)
    : tensor_sizes_(TensorSizes(layout)),
      transport_(std::move(transport)),
      options_(std::move(options)),
      compressor_(
          job.job().has_compression()
              ? std::make_unique<GradientCompressor>(
                    job, layout,
                    [this](int64_t floats) { return NewBuffer(floats); })
              : nullptr),
      book_(job, std::move(layout),
            [this](int64_t floats) { return NewBuffer(floats); }) {
  const v1::Optimizer& optimizer = job.job().optimizer();
  if (!IsSync(job.job()) && optimizer.clip_global_norm() > 0) {
    clipper_ = std::make_unique<StepClipper>(
        static_cast<int32_t>(tensor_sizes_.size()), optimizer.clip_value(),
        optimizer.clip_global_norm());
  }
  retry_thread_ = std::thread([this] { RunRetries(); });
}

ParameterClientImpl::~ParameterClientImpl() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    retry_changed_.NotifyAll();
  }
  retry_thread_.join();
  transport_->Stop();
}

absl::Status ParameterClientImpl::Connect() {
  return transport_->Start(this, options_.connect_timeout_ms);
}

// Some chunks may have had this worker's part of the step from a former life,
// and be one version further.
absl::StatusOr<int64_t> ParameterClientImpl::FindStep() {
  const auto tensors = static_cast<int32_t>(tensor_sizes_.size());
  {
    MutexLock lock(&mu_);
    for (int32_t tensor = 0; tensor < tensors; ++tensor) {
      book_.RequestAsItIs(tensor);
    }
  }
  SendOutbox();
  int64_t step = std::numeric_limits<int64_t>::max();
  for (int32_t tensor = 0; tensor < tensors; ++tensor) {
    SELARI_RETURN_IF_ERROR(WaitForTensor(tensor).status());
    MutexLock lock(&mu_);
    step = std::min(step, book_.inbox(tensor).oldest_version());
  }
  return step;
}

void ParameterClientImpl::RequestPulls(int32_t begin, int32_t end,
                                       int64_t min_version) {
  {
    MutexLock lock(&mu_);
    for (int32_t tensor = begin; tensor < end; ++tensor) {
      // Copying the last value takes microseconds; its memory is reused.
      ++fill_waiters_;
      while (book_.inbox(tensor).filling()) {
        changed_.Wait(&mu_);
      }
      --fill_waiters_;
      book_.RequestPull(tensor, min_version);
    }
  }
  SendOutbox();
}

absl::StatusOr<absl::Span<const float>> ParameterClientImpl::WaitForTensor(
    int32_t tensor) {
  const WaitTimer timer(&pull_wait_us_);
  SendOutbox();
  Wait wait = BeginWait();
  MutexLock lock(&mu_);
  const TensorInbox& inbox = book_.inbox(tensor);
  if (!inbox.requested()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "tensor \"", book_.tensor_name(tensor), "\" was never requested"));
  }
  while (book_.failure().ok() && !inbox.complete()) {
    WaitForChange(tensor, &wait);
  }
  SELARI_RETURN_IF_ERROR(book_.failure());
  return inbox.weights();
}

absl::Status ParameterClientImpl::Push(
    int64_t step, TreeNode node, int32_t tensor,
    std::shared_ptr<const FloatBuffer> gradient) {
  const WaitTimer timer(&push_wait_us_);
  if (gradient->size() != tensor_sizes_[tensor]) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the gradient of tensor ", tensor, " has ", gradient->size(),
        " elements, the tensor ", tensor_sizes_[tensor]));
  }
  transport_->WaitForWindow();
  std::vector<TensorGradient> gradients;
  if (clipper_ == nullptr) {
    gradients.push_back({tensor, gradient});
  } else {
    SELARI_ASSIGN_OR_RETURN(auto clipped,
                            clipper_->Add(step, tensor, gradient));
    for (size_t i = 0; i < clipped.size(); ++i) {
      gradients.push_back({static_cast<int32_t>(i), std::move(clipped[i])});
    }
  }
  SELARI_ASSIGN_OR_RETURN(std::vector<ChunkPush> encoded,
                          Encode(step, node, gradients));
  {
    MutexLock lock(&mu_);
    SELARI_RETURN_IF_ERROR(book_.failure());
    if (compressor_ == nullptr) {
      for (const TensorGradient& each : gradients) {
        book_.Push(step, node, each.tensor, each.gradient);
      }
    }
    for (ChunkPush& push : encoded) {
      book_.Push(std::move(push));
    }
    held_bytes_ += gradient->size_bytes();
    if (held_bytes_ < kHeldBytesMax) {
      return absl::OkStatus();
    }
  }
  SendOutbox();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ChunkPush>> ParameterClientImpl::Encode(
    int64_t step, TreeNode node, const std::vector<TensorGradient>& gradients) {
  std::vector<ChunkPush> pushes;
  if (compressor_ == nullptr) {
    return pushes;
  }
  for (const TensorGradient& each : gradients) {
    SELARI_ASSIGN_OR_RETURN(
        std::vector<ChunkPush> chunks,
        compressor_->Encode(step, node, each.tensor, each.gradient));
    std::move(chunks.begin(), chunks.end(), std::back_inserter(pushes));
  }
  return pushes;
}

absl::Status ParameterClientImpl::Flush() {
  const WaitTimer timer(&push_wait_us_);
  if (clipper_ != nullptr && !clipper_->empty()) {
    return absl::FailedPreconditionError(
        "Flush in the middle of a step whose gradient is to be clipped");
  }
  SendOutbox();
  Wait wait = BeginWait();
  MutexLock lock(&mu_);
  while (book_.failure().ok() && !book_.AllAcknowledged()) {
    WaitForChange(kNoTensor, &wait);
  }
  return book_.failure();
}

ClientStats ParameterClientImpl::Stats() const {
  const TransportStats transport = transport_->Stats();
  ClientStats stats;
  stats.bytes_pushed = transport.bytes_sent;
  stats.bytes_pulled = transport.bytes_received;
  stats.bytes_shared = transport.bytes_shared;
  stats.pull_wait_us = pull_wait_us_;
  stats.push_wait_us = push_wait_us_;
  return stats;
}

void ParameterClientImpl::OnReplies(std::vector<ShardReply> replies) {
  const int64_t now_ms = clock_.NowMs();
  bool tensor_complete = false;
  for (const ShardReply& reply : replies) {
    if (const auto* value = std::get_if<ChunkValue>(&reply)) {
      tensor_complete |= TakeValue(*value);
      continue;
    }
    MutexLock lock(&mu_);
    if (const auto* ack = std::get_if<PushAck>(&reply)) {
      book_.Take(*ack, now_ms);
    } else if (const auto* partials = std::get_if<ReductionPartials>(&reply)) {
      book_.Take(*partials, now_ms);
    } else {
      book_.Take(std::get<RequestError>(reply), now_ms);
      retry_changed_.NotifyAll();
    }
  }
  {
    // Not for each reply: a waiting thread wakes when it can go on.
    MutexLock lock(&mu_);
    if (tensor_complete || book_.AllAcknowledged() || !book_.failure().ok()) {
      changed_.NotifyAll();
    }
  }
  SendOutbox();
}

// True when its tensor is complete.
bool ParameterClientImpl::TakeValue(const ChunkValue& value) {
  float* destination = nullptr;
  {
    MutexLock lock(&mu_);
    destination = book_.BeginFill(value);
  }
  if (destination == nullptr) {
    return false;
  }
  // Unless the server has put them there itself. Without the lock: other
  // servers' values are copied meanwhile.
  if (value.weights.data() != destination) {
    value.weights.Copy(0, value.weights.size(), destination);
  }
  MutexLock lock(&mu_);
  if (fill_waiters_ > 0) {
    changed_.NotifyAll();
  }
  return book_.EndFill(value.chunk);
}

std::vector<ShardRequest> ParameterClientImpl::OnConnected(
    const std::vector<int32_t>& shards) {
  MutexLock lock(&mu_);
  ++fill_waiters_;
  while (book_.filling()) {
    changed_.Wait(&mu_);
  }
  --fill_waiters_;
  return book_.Unanswered(shards);
}

void ParameterClientImpl::OnFailed(const absl::Status& status) {
  MutexLock lock(&mu_);
  book_.Fail(status);
  changed_.NotifyAll();
}

void ParameterClientImpl::SendOutbox() {
  MutexLock lock(&mu_);
  held_bytes_ = 0;
  if (sending_) {
    return;
  }
  sending_ = true;
  while (!book_.outbox_empty()) {
    std::vector<ShardRequest> requests = book_.TakeOutbox();
    mu_.Unlock();
    transport_->Send(std::move(requests));
    mu_.Lock();
  }
  sending_ = false;
}

void ParameterClientImpl::RunRetries() {
  MutexLock lock(&mu_);
  while (!stopping_) {
    const std::optional<int64_t> next_ms = book_.NextRetryMs();
    const int64_t now_ms = clock_.NowMs();
    if (!next_ms.has_value()) {
      retry_changed_.Wait(&mu_);
    } else if (now_ms < *next_ms) {
      retry_changed_.WaitFor(&mu_,
                             std::chrono::milliseconds(*next_ms - now_ms));
    } else {
      book_.QueueRetries(now_ms);
      mu_.Unlock();
      SendOutbox();
      mu_.Lock();
    }
  }
}

ParameterClientImpl::Wait ParameterClientImpl::BeginWait() const {
  const int64_t now_ms = clock_.NowMs();
  return {now_ms, now_ms + options_.waiting_first_ms};
}

void ParameterClientImpl::WaitForChange(int32_t tensor, Wait* wait) {
  const int64_t now_ms = clock_.NowMs();
  if (now_ms < wait->next_report_ms) {
    changed_.WaitFor(&mu_,
                     std::chrono::milliseconds(wait->next_report_ms - now_ms));
    return;
  }
  wait->next_report_ms = now_ms + options_.waiting_interval_ms;
  if (options_.on_waiting != nullptr) {
    const std::string sentence = absl::StrCat(
        "waiting for ", (now_ms - wait->begin_ms) / 1000, " s for ",
        tensor == kNoTensor ? book_.DescribeFlush()
                            : book_.DescribePull(tensor));
    mu_.Unlock();
    options_.on_waiting(sentence);
    mu_.Lock();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<ParameterClient>> ConnectParameterClient(
    const v1::ResolvedJob& job, std::unique_ptr<ShardTransport> transport,
    const ParameterClientOptions& options) {
  SELARI_ASSIGN_OR_RETURN(ChunkLayout layout, MakeChunkLayout(job));
  auto client = std::make_unique<ParameterClientImpl>(
      job, std::move(layout), std::move(transport), options);
  SELARI_RETURN_IF_ERROR(client->Connect());
  return std::unique_ptr<ParameterClient>(std::move(client));
}

}  // namespace selari
