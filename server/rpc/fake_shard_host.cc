#include "server/rpc/fake_shard_host.h"

#include <algorithm>
#include <variant>

#include "common/check.h"
#include "common/status.h"

namespace selari {

v1::ResolvedJob FakeJob(
    const std::vector<std::pair<std::string, int64_t>>& tensors,
    int32_t workers) {
  v1::ResolvedJob resolved;
  resolved.set_job_id("job");
  resolved.mutable_job()->mutable_cluster()->set_workers(workers);
  resolved.mutable_job()->mutable_cluster()->set_shard_count(2);
  resolved.mutable_job()->mutable_training()->set_leaf_count(8);
  resolved.mutable_job()->mutable_consistency()->set_mode(
      v1::CONSISTENCY_ASYNC);
  resolved.mutable_job()->mutable_optimizer()->mutable_sgd();
  resolved.mutable_job()->mutable_optimizer()->set_learning_rate(1);
  for (const auto& [name, count] : tensors) {
    v1::TensorSpec* tensor = resolved.add_tensors();
    tensor->set_name(name);
    tensor->add_shape(count);
  }
  return resolved;
}

FakeShardHost::FakeShardHost(
    const std::vector<std::pair<std::string, int64_t>>& tensors,
    const std::vector<int32_t>& shards, int32_t workers) {
  if (shards.empty()) {
    return;
  }
  auto job = ShardJob::Create(FakeJob(tensors, workers));
  SELARI_CHECK(job.ok());
  SELARI_CHECK(Initialize(*job, shards).ok());
}

absl::Status FakeShardHost::Initialize(std::shared_ptr<const ShardJob> job,
                                       const std::vector<int32_t>& shards) {
  MutexLock lock(&mu_);
  job_ = std::move(job);
  shards_ = shards;
  for (const ChunkSpec& spec : job_->layout.chunks()) {
    auto weights = FloatBuffer::Allocate(spec.count);
    std::fill_n(weights->data(), spec.count, 0.0f);
    chunks_.push_back({0, std::move(weights)});
  }
  return absl::OkStatus();
}

absl::Status FakeShardHost::Restore(std::shared_ptr<const ShardJob>,
                                    std::vector<ShardSnapshot>) {
  return absl::UnimplementedError("fake");
}

void FakeShardHost::RecoverFrom(const FakeShardHost& lost) {
  std::vector<Chunk> chunks;
  Sequences sequences;
  {
    MutexLock lock(&lost.mu_);
    chunks = lost.chunks_;
    sequences = lost.sequences_;
  }
  MutexLock lock(&mu_);
  chunks_ = std::move(chunks);
  sequences_ = std::move(sequences);
}

void FakeShardHost::HoldReplies() {
  MutexLock lock(&mu_);
  held_ = true;
}

void FakeShardHost::ReleaseReplies() {
  {
    MutexLock lock(&mu_);
    held_ = false;
  }
  Deliver();
}

void FakeShardHost::RefuseNextPush(RequestError error) {
  MutexLock lock(&mu_);
  refusals_.push_back(std::move(error));
}

void FakeShardHost::Broadcast(const ShardReply& reply) {
  {
    MutexLock lock(&mu_);
    for (const auto& session : sessions_) {
      outbox_.emplace_back(session.first, reply);
    }
  }
  Deliver();
}

void FakeShardHost::WaitForRequests(int64_t count) {
  MutexLock lock(&mu_);
  while (request_count_ < count) {
    submitted_.Wait(&mu_);
  }
}

int64_t FakeShardHost::applied_count() const {
  MutexLock lock(&mu_);
  return applied_count_;
}

int64_t FakeShardHost::lowest_sequence() const {
  MutexLock lock(&mu_);
  return lowest_sequence_;
}

int64_t FakeShardHost::session_count() const {
  MutexLock lock(&mu_);
  return static_cast<int64_t>(sessions_.size());
}

std::vector<ReductionTotals> FakeShardHost::totals() const {
  MutexLock lock(&mu_);
  return totals_;
}

float FakeShardHost::weight(int32_t chunk, int64_t i) const {
  MutexLock lock(&mu_);
  return chunks_[chunk].weights->data()[i];
}

std::shared_ptr<const ShardJob> FakeShardHost::job() const {
  MutexLock lock(&mu_);
  return job_;
}

std::vector<int32_t> FakeShardHost::shards() const {
  MutexLock lock(&mu_);
  return shards_;
}

ShardHost::SessionId FakeShardHost::Connect(const WorkerIdentity& worker,
                                            std::shared_ptr<ReplySink> sink) {
  MutexLock lock(&mu_);
  sessions_[next_session_] = {worker, std::move(sink)};
  return next_session_++;
}

void FakeShardHost::Disconnect(SessionId session) {
  MutexLock lock(&mu_);
  sessions_.erase(session);
}

void FakeShardHost::Submit(SessionId session,
                           std::vector<ShardRequest> requests) {
  {
    MutexLock lock(&mu_);
    int64_t handled_bytes = 0;
    for (const ShardRequest& request : requests) {
      if (const auto* push = std::get_if<ChunkPush>(&request)) {
        handled_bytes += push->gradient.size_bytes();
      }
      Take(session, request);
    }
    handled_.emplace_back(sessions_.at(session).sink, handled_bytes);
    request_count_ += static_cast<int64_t>(requests.size());
    submitted_.NotifyAll();
  }
  DeliverHandled();
  Deliver();
}

void FakeShardHost::HoldHandled() {
  MutexLock lock(&mu_);
  handled_held_ = true;
}

void FakeShardHost::ReleaseHandled() {
  {
    MutexLock lock(&mu_);
    handled_held_ = false;
  }
  DeliverHandled();
}

void FakeShardHost::DeliverHandled() {
  std::vector<std::pair<std::shared_ptr<ReplySink>, int64_t>> handled;
  {
    MutexLock lock(&mu_);
    if (handled_held_) {
      return;
    }
    handled.swap(handled_);
  }
  for (const auto& [sink, bytes] : handled) {
    sink->OnHandled(bytes);
  }
}

int64_t FakeShardHost::request_count() const {
  MutexLock lock(&mu_);
  return request_count_;
}

void FakeShardHost::Take(SessionId session, const ShardRequest& request) {
  if (const auto* push = std::get_if<ChunkPush>(&request)) {
    lowest_sequence_ = lowest_sequence_ == 0
                           ? push->sequence
                           : std::min(lowest_sequence_, push->sequence);
    if (refusals_.empty()) {
      Apply(session, *push);
    } else {
      RequestError error = refusals_.front();
      refusals_.erase(refusals_.begin());
      error.chunk = push->chunk;
      error.step = push->step;
      error.sequence = push->sequence;
      outbox_.emplace_back(session, error);
    }
  } else if (const auto* pull = std::get_if<ChunkPull>(&request)) {
    waiting_.push_back({session, *pull});
  } else {
    totals_.push_back(std::get<ReductionTotals>(request));
  }
  AnswerPulls();
}

void FakeShardHost::Apply(SessionId session, const ChunkPush& push) {
  const WorkerIdentity worker = sessions_.at(session).worker;
  const int32_t shard = job_->layout.chunk(push.chunk).shard;
  int64_t& last = sequences_[{worker.incarnation, {worker.worker_id, shard}}];
  Chunk& chunk = chunks_[push.chunk];
  const bool repeated = push.sequence <= last;
  if (push.sequence > last + 1) {
    RequestError error{push.chunk,
                       push.step,
                       push.sequence,
                       absl::AbortedError("sequence gap"),
                       ErrorReason::kSequenceGap,
                       1};
    outbox_.emplace_back(session, error);
    return;
  }
  if (!repeated) {
    last = push.sequence;
    auto next = FloatBuffer::Allocate(chunk.weights->size());
    push.gradient.Copy(0, next->size(), next->data());
    for (int64_t i = 0; i < next->size(); ++i) {
      next->data()[i] = chunk.weights->data()[i] - next->data()[i];
    }
    chunk.weights = std::move(next);
    ++chunk.version;
    ++applied_count_;
  }
  outbox_.emplace_back(session, PushAck{push.chunk, push.step, push.sequence,
                                        chunk.version, repeated});
}

void FakeShardHost::AnswerPulls() {
  std::vector<WaitingPull> left;
  for (const WaitingPull& waiting : waiting_) {
    const Chunk& chunk = chunks_[waiting.pull.chunk];
    if (chunk.version < waiting.pull.min_version) {
      left.push_back(waiting);
      continue;
    }
    outbox_.emplace_back(waiting.session,
                         ChunkValue{waiting.pull.chunk,
                                    chunk.version,
                                    {chunk.weights->data(),
                                     chunk.weights->size(), chunk.weights},
                                    waiting.pull.into});
  }
  waiting_ = std::move(left);
}

void FakeShardHost::Deliver() {
  std::vector<std::pair<std::shared_ptr<ReplySink>, ShardReply>> deliveries;
  {
    MutexLock lock(&mu_);
    if (held_) {
      return;
    }
    for (auto& [session, reply] : outbox_) {
      const auto found = sessions_.find(session);
      if (found != sessions_.end()) {
        deliveries.emplace_back(found->second.sink, std::move(reply));
      }
    }
    outbox_.clear();
  }
  for (auto& [sink, reply] : deliveries) {
    sink->OnReplies({std::move(reply)});
  }
}

void FakeShardHost::SetWorkers(const std::vector<int32_t>&) {}

std::vector<ShardProgress> FakeShardHost::Pause() { return Progress(); }

void FakeShardHost::Resume() {}

std::vector<ShardProgress> FakeShardHost::Progress() const {
  MutexLock lock(&mu_);
  std::vector<ShardProgress> result;
  for (const int32_t shard : shards_) {
    ShardProgress progress;
    progress.shard = shard;
    for (const ChunkSpec& spec : job_->layout.ChunksOfShard(shard)) {
      progress.min_version = chunks_[spec.chunk].version;
    }
    result.push_back(progress);
  }
  return result;
}

void FakeShardHost::Capture(int64_t, bool, CaptureCallback done) {
  done(absl::UnimplementedError("fake"));
}

}  // namespace selari
