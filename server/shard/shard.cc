#include "server/shard/shard.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "common/error_reason.h"
#include "server/shard/decode_push.h"

namespace selari {
namespace {

constexpr int64_t kNoBound = std::numeric_limits<int64_t>::max();

template <typename Container, typename Predicate>
void EraseIf(Container* container, const Predicate& predicate) {
  container->erase(
      std::remove_if(container->begin(), container->end(), predicate),
      container->end());
}

}  // namespace

Shard::Shard(std::unique_ptr<ShardState> state, OpObserver observer)
    : state_(std::move(state)),
      observer_(std::move(observer)),
      incoming_(state_->job().sync() ? state_->chunks().size() : 0),
      pulls_(state_->chunks().size()),
      slowest_clock_(kNoBound) {
  if (state_->job().consistency == v1::CONSISTENCY_BOUNDED) {
    worker_ids_.resize(state_->job().resolved.job().cluster().workers());
    std::iota(worker_ids_.begin(), worker_ids_.end(), 0);
    slowest_clock_ = SlowestClock();
  }
}

Shard::Shard(std::unique_ptr<ShardState> state, LogPosition log,
             OpObserver observer)
    : Shard(std::move(state), std::move(observer)) {
  log_ = log;
}

void Shard::OpenSession(SessionId session, const WorkerIdentity& worker,
                        Replies* replies) {
  sessions_.Open(session, worker);
  if (worker.worker_id == kObserverId) {
    return;
  }
  for (ReductionPartials& partials : state_->RecentPartials()) {
    replies->push_back({session, std::move(partials)});
  }
}

void Shard::CloseSession(SessionId session) {
  sessions_.Close(session);
  pulls_.DropSession(session);
  for (Incoming& incoming : incoming_) {
    EraseIf(&incoming.pushes, [session](const WaitingPush& push) {
      return push.session == session;
    });
  }
}

void Shard::Handle(SessionId session, ShardRequest request, Replies* replies) {
  if (sessions_.Find(session) == nullptr) {
    return;  // closed while the request was in the queue
  }
  if (session <= last_stale_session_) {
    RefuseRequest(
        session, request,
        {absl::FailedPreconditionError(
             "the shard went back to a checkpoint; connect to it anew"),
         ErrorReason::kStaleIncarnation},
        replies);
    return;
  }
  if (closed_.has_value()) {
    RefuseRequest(session, request, *closed_, replies);
    return;
  }
  if (auto* push = std::get_if<ChunkPush>(&request)) {
    HandlePush(session, std::move(*push), replies);
  } else if (const auto* pull = std::get_if<ChunkPull>(&request)) {
    HandlePull(session, *pull, replies);
  } else {
    HandleTotals(session, std::move(std::get<ReductionTotals>(request)),
                 replies);
  }
}

void Shard::RefuseRequest(SessionId session, const ShardRequest& request,
                          const Refusal& refusal, Replies* replies) {
  if (const auto* push = std::get_if<ChunkPush>(&request)) {
    Refuse(session, RefusePush(*push, refusal), replies);
  } else if (const auto* pull = std::get_if<ChunkPull>(&request)) {
    Refuse(session, RefusePull(*pull, refusal), replies);
  }  // nobody waits for an answer to totals
}

PushAck Shard::AckOf(const WaitingPush& push, int32_t chunk,
                     int64_t version) const {
  return {chunk,   push.step,          push.sequence,
          version, /*repeated=*/false, /*journaled=*/log_.has_value()};
}

void Shard::HandlePush(SessionId session, ChunkPush push, Replies* replies) {
  ++counters_.pushes;
  counters_.push_bytes += push.gradient.size_bytes();
  const WorkerIdentity worker = *sessions_.Find(session);
  if (worker.worker_id == kObserverId) {
    Refuse(session, RefusePush(push, ObserverPush()), replies);
    return;
  }
  if (!sessions_.MayPush(worker)) {
    Refuse(session, RefusePush(push, StaleIncarnation(worker)), replies);
    return;
  }
  if (std::optional<Refusal> refusal = CheckNumbers(push)) {
    Refuse(session, RefusePush(push, *std::move(refusal)), replies);
    return;
  }
  if (state_->job().sync()) {
    TakeSyncPush(session, std::move(push), replies);
  } else {
    TakeOrderedPush(session, worker, std::move(push), replies);
  }
}

// SYNC: a push is named by (step, node), so it needs no order.
void Shard::TakeSyncPush(SessionId session, ChunkPush push, Replies* replies) {
  const ShardJob& job = state_->job();
  const size_t index = state_->IndexOf(push.chunk);
  const int64_t version = state_->version(index);
  if (push.step < version) {
    ++counters_.repeated_pushes;
    PushAck ack =
        AckOf({session, push.step, push.sequence}, push.chunk, version);
    ack.repeated = true;
    replies->push_back({session, ack});
    return;
  }
  std::optional<Refusal> refusal;
  if (stop_step_.has_value() && push.step >= *stop_step_) {
    refusal = JobStopped();
  }
  if (!refusal.has_value()) {
    refusal = CheckSyncStep(job, push, version);
  }
  if (!refusal.has_value()) {
    refusal = DecodePush(job, &push);
  }
  if (!refusal.has_value()) {
    refusal = CheckGradient(job, push);
  }
  Incoming& incoming = incoming_[index];
  if (!refusal.has_value() && incoming.pushes.size() >= kWaitingPushesMax) {
    refusal = TooManyWaiting(push.chunk, kWaitingPushesMax);
  }
  if (refusal.has_value()) {
    Refuse(session, RefusePush(push, *std::move(refusal)), replies);
    return;
  }
  incoming.pushes.push_back({session, push.step, push.sequence});
  if (push.step == version && state_->reduced(index)) {
    return;  // all leaves have come; the update waits for totals
  }
  incoming.steps[push.step % 2].Add(job.tree, push.node,
                                    std::move(push.gradient));
  ReduceIfComplete(index, replies);
}

// BOUNDED, ASYNC: the pushes of one life of a worker come in order.
void Shard::TakeOrderedPush(SessionId session, const WorkerIdentity& worker,
                            ChunkPush push, Replies* replies) {
  const size_t index = state_->IndexOf(push.chunk);
  PushAck ack = AckOf({session, push.step, push.sequence}, push.chunk,
                      state_->version(index));
  ack.repeated = true;
  const int64_t next_sequence = state_->workers().NextSequence(worker);
  if (push.sequence < next_sequence) {
    ++counters_.repeated_pushes;
    replies->push_back({session, ack});
    return;
  }
  std::optional<Refusal> refusal;
  if (stop_step_.has_value()) {
    refusal = JobStopped();
  }
  if (!refusal.has_value()) {
    refusal = CheckSequence(push, next_sequence);
  }
  if (!refusal.has_value()) {
    refusal = DecodePush(state_->job(), &push);
  }
  if (!refusal.has_value()) {
    refusal = CheckGradient(state_->job(), push);
  }
  if (refusal.has_value()) {
    Refuse(session, RefusePush(push, *std::move(refusal)), replies);
    return;
  }
  const int64_t clock = state_->workers().Clock(worker.worker_id);
  Commit(PushOp{push.chunk, worker, push.sequence, push.step,
                ReducedGradient(std::move(push.gradient))},
         replies);
  // A clock that a former life had pushed leaves the version as it was.
  ack.repeated = state_->version(index) == ack.version;
  ack.version = state_->version(index);
  counters_.repeated_pushes += ack.repeated ? 1 : 0;
  replies->push_back({session, ack});
  if (state_->workers().Clock(worker.worker_id) != clock) {
    UpdateSlowestClock(replies);
  }
}

void Shard::HandlePull(SessionId session, const ChunkPull& pull,
                       Replies* replies) {
  ++counters_.pulls;
  const size_t index = state_->IndexOf(pull.chunk);
  std::optional<Refusal> refusal = CheckPull(state_->job(), pull);
  if (!refusal.has_value() && pull.exact) {
    refusal = CheckExactPull(state_->job(), pull, state_->version(index),
                             state_->has_previous(index));
  }
  if (refusal.has_value()) {
    Refuse(session, RefusePull(pull, *std::move(refusal)), replies);
  } else if (Ready(index, pull)) {
    AnswerPull(session, pull, replies);
  } else if (Hopeless(pull)) {
    Refuse(session, RefusePull(pull, JobStopped()), replies);
  } else if (!pulls_.Add(index, session, pull)) {
    Refuse(session,
           RefusePull(pull, TooManyWaiting(pull.chunk, PullQueue::kWaitingMax)),
           replies);
  }
}

void Shard::HandleTotals(SessionId session, ReductionTotals totals,
                         Replies* replies) {
  const int64_t step = state_->min_version();
  if (state_->chunks().empty() || totals.step < step ||
      (totals.step == step && totals.round < state_->round())) {
    return;  // every worker sends them; the first was taken
  }
  const bool stopped = stop_step_.has_value() && totals.step >= *stop_step_;
  if (stopped || !sessions_.MayPush(*sessions_.Find(session))) {
    return;  // the pushes they belong to are refused
  }
  std::optional<Refusal> refusal = CheckTotals(
      state_->job(), totals, step, state_->round(), state_->AllReduced());
  if (refusal.has_value()) {
    Refuse(session, RefuseTotals(totals, *std::move(refusal)), replies);
    return;
  }
  Commit(TotalsOp{totals.step, totals.round, std::move(totals.totals)},
         replies);
}

void Shard::ReduceIfComplete(size_t index, Replies* replies) {
  const ShardJob& job = state_->job();
  const int64_t step = state_->version(index);
  ContributionSet& set = incoming_[index].steps[step % 2];
  if (set.Complete(job.tree)) {
    Commit(ReducedOp{state_->chunks()[index].chunk, step,
                     set.Take(job.tree, job.add, &program_)},
           replies);
  }
}

void Shard::Commit(const ShardOp& op, Replies* replies) {
  if (observer_ != nullptr) {
    observer_(op);
  }
  const int64_t max_version = state_->max_version();
  // Taken away while in use: the next step's gradient may be complete, too.
  ApplyEffects effects = std::move(effects_);
  effects.Clear();
  state_->Apply(op, &effects);
  if (log_.has_value()) {
    ++log_->next;
    if (state_->max_version() > max_version) {
      log_->version_begin = log_->next;
    }
  }
  for (const ReductionPartials& partials : effects.partials) {
    for (const auto& [session, worker] : sessions_.sessions()) {
      if (worker.worker_id != kObserverId) {
        replies->push_back({session, partials});
      }
    }
  }
  // All chunks at once before any goes on: with rounds they move together.
  for (const int32_t chunk : effects.updated_chunks) {
    OnUpdate(state_->IndexOf(chunk), replies);
  }
  if (state_->job().sync()) {
    for (const int32_t chunk : effects.updated_chunks) {
      ReduceIfComplete(state_->IndexOf(chunk), replies);
    }
  }
  effects_ = std::move(effects);
}

void Shard::OnUpdate(size_t index, Replies* replies) {
  ++counters_.updates;
  const int64_t version = state_->version(index);
  captures_.OnUpdate(index, state_.get(), log_.has_value() ? log_->next : 0);
  if (!incoming_.empty()) {
    const int32_t chunk = state_->chunks()[index].chunk;
    EraseIf(&incoming_[index].pushes, [&](const WaitingPush& push) {
      if (push.step >= version) {
        return false;
      }
      replies->push_back({push.session, AckOf(push, chunk, version)});
      return true;
    });
  }
  pulls_.Release(
      index, [&](const ChunkPull& pull) { return Ready(index, pull); },
      [&](SessionId session, const ChunkPull& pull) {
        AnswerPull(session, pull, replies);
      });
}

bool Shard::Ready(size_t index, const ChunkPull& pull) const {
  if (state_->version(index) < pull.min_version) {
    return false;
  }
  return slowest_clock_ == kNoBound ||
         pull.clock - state_->job().staleness <= slowest_clock_;
}

// True when a pull that is not ready will never be.
bool Shard::Hopeless(const ChunkPull& pull) const {
  return stop_step_.has_value() &&
         (!state_->job().sync() || pull.min_version > *stop_step_);
}

void Shard::AnswerPull(SessionId session, const ChunkPull& pull,
                       Replies* replies) {
  const size_t index = state_->IndexOf(pull.chunk);
  ChunkValue value{pull.chunk, state_->version(index), state_->weights(index),
                   pull.into};
  if (pull.exact && value.version > pull.min_version) {
    --value.version;
    value.weights = state_->previous_weights(index);
  }
  counters_.pull_bytes += value.weights.size_bytes();
  replies->push_back({session, std::move(value)});
}

// After something that all chunks' pulls depend on has changed.
void Shard::AnswerWaitingPulls(Replies* replies) {
  pulls_.ReleaseAll(
      [&](const ChunkPull& pull) {
        return Ready(state_->IndexOf(pull.chunk), pull);
      },
      [&](SessionId session, const ChunkPull& pull) {
        AnswerPull(session, pull, replies);
      });
}

void Shard::SetWorkers(std::vector<int32_t> worker_ids, Replies* replies) {
  worker_ids_ = std::move(worker_ids);
  UpdateSlowestClock(replies);
}

int64_t Shard::SlowestClock() const {
  int64_t slowest = kNoBound;
  for (const int32_t worker_id : worker_ids_) {
    slowest = std::min(slowest, state_->workers().Clock(worker_id));
  }
  return slowest;
}

void Shard::UpdateSlowestClock(Replies* replies) {
  if (state_->job().consistency != v1::CONSISTENCY_BOUNDED) {
    return;
  }
  const int64_t slowest = SlowestClock();
  const bool risen = slowest > slowest_clock_;
  slowest_clock_ = slowest;
  if (risen) {
    AnswerWaitingPulls(replies);
  }
}

void Shard::Capture(int64_t step, bool stop, ShardCaptureCallback done,
                    Replies* replies) {
  if (step >= 0 && !state_->job().sync()) {
    done(absl::InvalidArgumentError(
        "a capture at a step needs consistency SYNC; elsewhere chunks are "
        "captured as they are, with step -1"));
    return;
  }
  if (closed_.has_value()) {
    done(WithReason(closed_->status, closed_->reason));
    return;
  }
  if (stop && (step < 0 || state_->max_version() <= step)) {
    StopAt(step, replies);
  }
  const LogPosition log = log_.value_or(LogPosition());
  captures_.Add(step, state_.get(), step < 0 ? log.next : log.version_begin,
                std::move(done));
}

void Shard::StopAt(int64_t step, Replies* replies) {
  step = std::max<int64_t>(step, 0);  // -1: at once
  if (stop_step_.has_value()) {
    step = std::min(step, *stop_step_);
  }
  stop_step_ = step;
  for (size_t index = 0; index < incoming_.size(); ++index) {
    Incoming& incoming = incoming_[index];
    const int64_t version = state_->version(index);
    for (int64_t dropped = std::max(version, step); dropped <= version + 1;
         ++dropped) {
      incoming.steps[dropped % 2].Clear();
    }
    const int32_t chunk = state_->chunks()[index].chunk;
    EraseIf(&incoming.pushes, [&](const WaitingPush& push) {
      if (push.step < step) {
        return false;
      }
      Refuse(push.session,
             {chunk, push.step, push.sequence, JobStopped().status,
              ErrorReason::kJobStopped, 0},
             replies);
      return true;
    });
  }
  pulls_.ReleaseAll([&](const ChunkPull& pull) { return Hopeless(pull); },
                    [&](SessionId session, const ChunkPull& pull) {
                      Refuse(session, RefusePull(pull, JobStopped()), replies);
                    });
}

void Shard::RefuseWaiting(const Refusal& refusal, Replies* replies) {
  for (size_t index = 0; index < incoming_.size(); ++index) {
    const int32_t chunk = state_->chunks()[index].chunk;
    for (const WaitingPush& push : incoming_[index].pushes) {
      Refuse(push.session,
             {chunk, push.step, push.sequence, refusal.status, refusal.reason,
              refusal.retry_after_ms},
             replies);
    }
    incoming_[index] = Incoming();
  }
  pulls_.ReleaseAll([](const ChunkPull&) { return true; },
                    [&](SessionId session, const ChunkPull& pull) {
                      Refuse(session, RefusePull(pull, refusal), replies);
                    });
}

void Shard::Close(const Refusal& refusal, Replies* replies) {
  closed_ = refusal;
  RefuseWaiting(refusal, replies);
  captures_.Clear();
}

void Shard::Refuse(SessionId session, RequestError error, Replies* replies) {
  ++counters_.refused;
  replies->push_back({session, std::move(error)});
}

}  // namespace selari
