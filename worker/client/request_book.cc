#include "worker/client/request_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/error_reason.h"
#include "common/job_reduction.h"
#include "common/status.h"

namespace selari {
namespace {

// A gap follows a refused push and closes when that is sent again. One that
// stays open so often is lost for good.
constexpr int64_t kGapRetriesMax = 1000;
constexpr int32_t kGapRetryMs = 5;

std::vector<std::string> TensorNames(const v1::ResolvedJob& job) {
  std::vector<std::string> names;
  for (const v1::TensorSpec& tensor : job.tensors()) {
    names.push_back(tensor.name());
  }
  return names;
}

}  // namespace

RequestBook::RequestBook(const v1::ResolvedJob& job, ChunkLayout layout,
                         BufferSource source)
    : layout_(std::move(layout)),
      sync_(IsSync(job.job())),
      source_(std::move(source)),
      tensor_names_(TensorNames(job)),
      lanes_(layout_.shard_count()),
      collector_(ReductionRoundsOfJob(job.job()), &layout_,
                 layout_.tensor_count()) {
  for (int32_t i = 0; i < layout_.tensor_count(); ++i) {
    inboxes_.emplace_back(layout_.ChunksOfTensor(i), &source_);
  }
}

void RequestBook::RequestPull(int32_t tensor, int64_t min_version) {
  Request(tensor, min_version, /*exact=*/sync_);
}

void RequestBook::RequestAsItIs(int32_t tensor) {
  Request(tensor, /*min_version=*/0, /*exact=*/false);
}

void RequestBook::Request(int32_t tensor, int64_t min_version, bool exact) {
  TensorInbox& inbox = inboxes_[tensor];
  inbox.Request(min_version, exact);
  for (const ChunkPull& pull : inbox.MissingPulls(/*shard=*/-1)) {
    pull_retries_.erase(pull.chunk);
    outbox_.emplace_back(pull);
  }
}

void RequestBook::Push(int64_t step, TreeNode node, int32_t tensor,
                       const std::shared_ptr<const FloatBuffer>& gradient) {
  for (const ChunkSpec& chunk : layout_.ChunksOfTensor(tensor)) {
    ChunkPush push;
    push.chunk = chunk.chunk;
    push.step = step;
    push.node = node;
    push.gradient = {gradient->data() + chunk.offset, chunk.count, gradient};
    Push(std::move(push));
  }
}

void RequestBook::Push(ChunkPush push) {
  PushLane& lane = lanes_[layout_.chunk(push.chunk).shard];
  ++unacknowledged_count_;
  std::optional<ChunkPush> now = lane.Add(std::move(push));
  if (now.has_value()) {
    outbox_.emplace_back(*std::move(now));
  }
}

float* RequestBook::BeginFill(const ChunkValue& value) {
  if (!KnowsChunk(value.chunk)) {
    return nullptr;
  }
  const ChunkSpec& chunk = layout_.chunk(value.chunk);
  if (value.weights.size() != chunk.count) {
    Fail(absl::DataLossError(absl::StrCat(
        "shard ", chunk.shard, " sent ", value.weights.size(),
        " weights for chunk ", value.chunk, ", which has ", chunk.count)));
    return nullptr;
  }
  TensorInbox& inbox = inboxes_[chunk.tensor];
  if (inbox.exact() && inbox.IsMissing(value.chunk) &&
      value.version > inbox.version()) {
    // A gradient of weights of two steps would be wrong, and nobody would see.
    Fail(WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "shard ", chunk.shard, " is at version ", value.version,
            " of tensor \"", tensor_names_[chunk.tensor], "\" where ",
            inbox.version(), " is needed: it went on without this worker")),
        ErrorReason::kStaleIncarnation));
    return nullptr;
  }
  return inbox.BeginFill(value);
}

bool RequestBook::EndFill(int32_t chunk) {
  TensorInbox& inbox = inboxes_[layout_.chunk(chunk).tensor];
  inbox.EndFill(chunk);
  return inbox.complete();
}

void RequestBook::Take(const PushAck& ack, int64_t /*now_ms*/) {
  if (KnowsChunk(ack.chunk)) {
    PushLane& lane = lanes_[layout_.chunk(ack.chunk).shard];
    unacknowledged_count_ -= lane.Acknowledge(ack.sequence) ? 1 : 0;
  }
}

void RequestBook::Take(const ReductionPartials& partials, int64_t /*now_ms*/) {
  auto totals = collector_.Add(partials);
  if (!totals.ok()) {
    Fail(totals.status());
    return;
  }
  for (ReductionTotals& of_shard : *totals) {
    outbox_.emplace_back(std::move(of_shard));
  }
}

void RequestBook::Take(const RequestError& error, int64_t now_ms) {
  if (!failure_.ok() || !KnowsChunk(error.chunk)) {
    return;
  }
  const ChunkSpec& chunk = layout_.chunk(error.chunk);
  if (error.reason == ErrorReason::kSequenceGap) {
    if (lanes_[chunk.shard].retry_count() < kGapRetriesMax) {
      Retry(error, now_ms + std::max(error.retry_after_ms, kGapRetryMs));
      return;
    }
  } else if (error.retry_after_ms > 0) {
    Retry(error, now_ms + error.retry_after_ms);
    return;
  }
  if (error.reason == ErrorReason::kJobStopped) {
    Fail(WithReason(absl::AbortedError(
                        absl::StrCat("job stopped: ", error.status.message())),
                    ErrorReason::kJobStopped));
    return;
  }
  Fail(WithReason(Annotate(error.status,
                           absl::StrCat("shard ", chunk.shard, ", tensor \"",
                                        tensor_names_[chunk.tensor], "\", ",
                                        error.sequence > 0 ? "push of step "
                                                           : "pull of version ",
                                        error.step)),
                  error.reason));
}

void RequestBook::Retry(const RequestError& error, int64_t at_ms) {
  if (error.sequence > 0) {
    lanes_[layout_.chunk(error.chunk).shard].Retry(error.sequence, at_ms);
  } else {
    pull_retries_[error.chunk] = at_ms;
  }
}

void RequestBook::Fail(const absl::Status& status) {
  if (failure_.ok()) {
    failure_ = status;
  }
}

bool RequestBook::KnowsChunk(int32_t chunk) {
  const auto chunk_count = static_cast<int64_t>(layout_.chunks().size());
  if (chunk >= 0 && chunk < chunk_count) {
    return true;
  }
  Fail(absl::DataLossError(absl::StrCat("a server speaks of chunk ", chunk,
                                        ", the job has ", chunk_count)));
  return false;
}

std::vector<ShardRequest> RequestBook::TakeOutbox() {
  std::vector<ShardRequest> requests;
  requests.swap(outbox_);
  return requests;
}

std::vector<ShardRequest> RequestBook::Unanswered(
    const std::vector<int32_t>& shards) {
  std::vector<ShardRequest> requests;
  for (TensorInbox& inbox : inboxes_) {
    inbox.Abandon(shards);
  }
  for (const int32_t shard : shards) {
    for (ChunkPush& push : lanes_[shard].TakeAll()) {
      requests.emplace_back(std::move(push));
    }
    for (const TensorInbox& inbox : inboxes_) {
      for (const ChunkPull& pull : inbox.MissingPulls(shard)) {
        requests.emplace_back(pull);
      }
    }
  }
  return requests;
}

bool RequestBook::filling() const {
  return std::any_of(inboxes_.begin(), inboxes_.end(),
                     [](const TensorInbox& inbox) { return inbox.filling(); });
}

std::optional<int64_t> RequestBook::NextRetryMs() const {
  std::optional<int64_t> next_ms;
  const auto consider = [&next_ms](int64_t at_ms) {
    next_ms = next_ms.has_value() ? std::min(*next_ms, at_ms) : at_ms;
  };
  for (const PushLane& lane : lanes_) {
    if (lane.retry_at_ms().has_value()) {
      consider(*lane.retry_at_ms());
    }
  }
  for (const auto& pull : pull_retries_) {
    consider(pull.second);
  }
  return next_ms;
}

void RequestBook::QueueRetries(int64_t now_ms) {
  for (PushLane& lane : lanes_) {
    for (ChunkPush& push : lane.TakeRetries(now_ms)) {
      outbox_.emplace_back(std::move(push));
    }
  }
  for (auto pull = pull_retries_.begin(); pull != pull_retries_.end();) {
    if (now_ms < pull->second) {
      ++pull;
      continue;
    }
    const TensorInbox& inbox = inboxes_[layout_.chunk(pull->first).tensor];
    if (inbox.IsMissing(pull->first)) {
      outbox_.emplace_back(inbox.PullOf(pull->first));
    }
    pull = pull_retries_.erase(pull);
  }
}

std::vector<int32_t> RequestBook::UnacknowledgedShards() const {
  std::vector<int32_t> shards;
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (!lanes_[i].empty()) {
      shards.push_back(static_cast<int32_t>(i));
    }
  }
  return shards;
}

std::string RequestBook::DescribePull(int32_t tensor) const {
  std::set<int32_t> shards;
  for (const ChunkPull& pull : inboxes_[tensor].MissingPulls(/*shard=*/-1)) {
    shards.insert(layout_.chunk(pull.chunk).shard);
  }
  return absl::StrCat("version ", inboxes_[tensor].version(), " of tensor \"",
                      tensor_names_[tensor], "\" from shards ",
                      absl::StrJoin(shards, ", "),
                      ": another worker or a server is late");
}

std::string RequestBook::DescribeFlush() const {
  return absl::StrCat("acknowledgements of shards ",
                      absl::StrJoin(UnacknowledgedShards(), ", "),
                      ": another worker or a server is late");
}

}  // namespace selari
