#include "server/shard/push_loop.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/reduction_round.h"
#include "common/status.h"

namespace selari {
namespace {

constexpr SessionId kSession = 1;

}  // namespace

absl::StatusOr<std::unique_ptr<PushLoop>> PushLoop::Create(
    const v1::ResolvedJob& job, std::vector<TreeNode> nodes) {
  SELARI_ASSIGN_OR_RETURN(std::shared_ptr<const ShardJob> shard_job,
                          ShardJob::Create(job));
  if (!shard_job->sync() || shard_job->layout.shard_count() != 1) {
    return absl::InvalidArgumentError(
        "a PushLoop needs a job in CONSISTENCY_SYNC with one shard");
  }
  return std::unique_ptr<PushLoop>(
      new PushLoop(std::move(shard_job), std::move(nodes)));
}

PushLoop::PushLoop(std::shared_ptr<const ShardJob> job,
                   std::vector<TreeNode> nodes)
    : job_(std::move(job)),
      nodes_(std::move(nodes)),
      shard_(ShardState::Initial(job_, 0)),
      gradients_(nodes_.size()) {
  shard_.OpenSession(kSession, {0, 7}, &replies_);
  for (int32_t tensor = 0; tensor < job_->layout.tensor_count(); ++tensor) {
    const ChunkSpec& last = job_->layout.ChunksOfTensor(tensor).back();
    const int64_t size = last.offset + last.count;
    for (auto& gradient : gradients_) {
      gradient.push_back(FloatBuffer::Allocate(size));
      std::fill_n(gradient.back()->data(), size, 0.01f);
    }
    floats_ += size;
  }
  for (const ChunkSpec& chunk : job_->layout.chunks()) {
    chunk_tensors_.push_back(chunk.tensor);
  }
}

absl::Status PushLoop::Step() {
  acknowledged_ = 0;
  if (job_->optimizer->RoundCount() > 0) {
    partials_.assign(
        chunk_tensors_.size() *
            static_cast<size_t>(job_->optimizer->Round(0).sum_count),
        0.0);
  }
  for (const ChunkSpec& chunk : job_->layout.chunks()) {
    Push(chunk);
    SELARI_RETURN_IF_ERROR(TakeReplies());
  }
  for (int round = 0; round < job_->optimizer->RoundCount(); ++round) {
    SendTotals(round);
    SELARI_RETURN_IF_ERROR(TakeReplies());
  }
  ++step_;
  const auto pushes =
      static_cast<int64_t>(chunk_tensors_.size() * nodes_.size());
  if (acknowledged_ != pushes) {
    return absl::InternalError(absl::StrCat("step ", step_, ": ", pushes,
                                            " pushes, ", acknowledged_,
                                            " acknowledged"));
  }
  return absl::OkStatus();
}

void PushLoop::Push(const ChunkSpec& chunk) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const std::shared_ptr<FloatBuffer>& gradient = gradients_[i][chunk.tensor];
    ChunkPush push;
    push.chunk = chunk.chunk;
    push.step = step_;
    push.node = nodes_[i];
    push.sequence = 1;
    push.gradient = {gradient->data() + chunk.offset, chunk.count, gradient};
    shard_.Handle(kSession, std::move(push), &replies_);
  }
}

absl::Status PushLoop::TakeReplies() {
  for (const Shard::Reply& reply : replies_) {
    if (const auto* error = std::get_if<RequestError>(&reply.reply)) {
      return error->status;
    }
    if (std::holds_alternative<PushAck>(reply.reply)) {
      ++acknowledged_;
    } else if (const auto* partials =
                   std::get_if<ReductionPartials>(&reply.reply)) {
      std::copy(
          partials->sums.begin(), partials->sums.end(),
          partials_.begin() +
              static_cast<int64_t>(partials->sums.size()) * partials->chunk);
    }
  }
  replies_.clear();
  return absl::OkStatus();
}

void PushLoop::SendTotals(int round) {
  ReductionTotals totals;
  totals.step = step_;
  totals.round = round;
  totals.totals = CombinePartials(job_->optimizer->Round(round), chunk_tensors_,
                                  job_->layout.tensor_count(), partials_);
  if (round + 1 < job_->optimizer->RoundCount()) {
    // The answer to these totals are the partial sums of the next round.
    partials_.assign(
        chunk_tensors_.size() *
            static_cast<size_t>(job_->optimizer->Round(round + 1).sum_count),
        0.0);
  }
  shard_.Handle(kSession, std::move(totals), &replies_);
}

}  // namespace selari
