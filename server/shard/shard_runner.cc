#include "server/shard/shard_runner.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/error_reason.h"
#include "server/shard/admission.h"

namespace selari {
namespace {

// How soon a client may ask again for a shard that another server has by now.
constexpr int32_t kMovedRetryMs = 200;

// Why a shard takes no more. Its clients go on elsewhere when it has moved.
Refusal LogFailed(int32_t shard, const absl::Status& why) {
  if (ReasonOf(why) == ErrorReason::kWrongShard) {
    return {absl::UnavailableError(why.message()), ErrorReason::kWrongShard,
            kMovedRetryMs};
  }
  return {absl::Status(why.code(),
                       absl::StrCat("shard ", shard,
                                    " takes no more updates, as its journal "
                                    "cannot be written: ",
                                    why.message())),
          ErrorReason::kShardFailed};
}

// Replies go out at least this often within a long batch, so that a client
// does not wait for the requests of all others.
constexpr size_t kItemsPerDelivery = 64;
constexpr int64_t kBytesPerDelivery = int64_t{1} << 20;
// Each delivery costs a sync where there is a log.
constexpr size_t kItemsPerCommit = 4096;
constexpr int64_t kBytesPerCommit = int64_t{16} << 20;

// Which request a reply answers.
struct ReplyPlace {
  int32_t chunk = -1;
  int64_t step = 0;
  int64_t sequence = 0;
  bool expected = true;  // by whoever sent the request
};

ReplyPlace PlaceOf(const ShardReply& reply) {
  if (const auto* ack = std::get_if<PushAck>(&reply)) {
    return {ack->chunk, ack->step, ack->sequence, true};
  }
  if (const auto* value = std::get_if<ChunkValue>(&reply)) {
    return {value->chunk, value->version, 0, true};
  }
  if (const auto* partials = std::get_if<ReductionPartials>(&reply)) {
    return {partials->chunk, partials->step, 0, false};
  }
  const auto& error = std::get<RequestError>(reply);
  return {error.chunk, error.step, error.sequence, true};
}

}  // namespace

ShardRunner::ShardRunner() : thread_([this] { Run(); }) {}

ShardRunner::~ShardRunner() {
  {
    MutexLock lock(&mu_);
    ending_ = true;
    attention_.store(true);
    changed_.NotifyAll();
  }
  thread_.join();
}

void ShardRunner::Submit(absl::Span<Item> items, bool run) {
  {
    MutexLock lock(&mu_);
    const bool was_empty = incoming_.empty();
    for (Item& item : items) {
      incoming_.push_back(std::move(item));
    }
    if (!run || keeps_logs_.load() || busy_ || paused_ || ending_ ||
        !controls_.empty()) {
      if (was_empty && !busy_ && !paused_) {
        changed_.NotifyAll();
      }
      return;
    }
    busy_ = true;
    TakeBatch();
  }
  RunBatch();
  Deliver();
  MutexLock lock(&mu_);
  Release();
}

void ShardRunner::Post(Control control) {
  MutexLock lock(&mu_);
  controls_.push_back(std::move(control));
  attention_.store(true);
  changed_.NotifyAll();
}

void ShardRunner::Pause() {
  MutexLock lock(&mu_);
  paused_ = true;
  attention_.store(true);
  while (busy_) {
    changed_.Wait(&mu_);
  }
}

void ShardRunner::Resume() {
  MutexLock lock(&mu_);
  paused_ = false;
  changed_.NotifyAll();
}

void ShardRunner::Run() {
  std::vector<Control> controls;
  while (WaitForWork(&controls)) {
    for (const Control& control : controls) {
      control();
    }
    controls.clear();
    RunBatch();
    Deliver();
    MutexLock lock(&mu_);
    Release();
  }
}

// Takes hold of the runner, with controls or, unless paused, requests. False at
// the end.
bool ShardRunner::WaitForWork(std::vector<Control>* controls) {
  MutexLock lock(&mu_);
  while (busy_ || (!ending_ && controls_.empty() && !RequestsWait())) {
    changed_.Wait(&mu_);
  }
  if (ending_) {
    return false;
  }
  busy_ = true;
  controls->swap(controls_);
  TakeBatch();
  return true;
}

// Unless paused, makes the waiting requests the batch in progress.
void ShardRunner::TakeBatch() {
  const bool run = RequestsWait();
  if (run && position_ == batch_.size()) {
    batch_.clear();
    position_ = 0;
    batch_.swap(incoming_);
  }
  // While paused the batch must not be touched: attention stays set.
  attention_.store(!run);
}

// Lets go of the runner and wakes whoever has waited for it.
void ShardRunner::Release() {
  busy_ = false;
  if (ending_ || paused_ || !controls_.empty() || RequestsWait()) {
    changed_.NotifyAll();
  }
}

void ShardRunner::RunBatch() {
  const bool logs = keeps_logs_.load();
  const size_t items_max = logs ? kItemsPerCommit : kItemsPerDelivery;
  const int64_t bytes_max = logs ? kBytesPerCommit : kBytesPerDelivery;
  size_t items = 0;
  int64_t bytes = 0;
  while (position_ < batch_.size() &&
         !attention_.load(std::memory_order_relaxed)) {
    Item& item = batch_[position_++];
    const int64_t item_bytes = GradientBytes(item.request);
    item.shard->machine()->Handle(item.session, std::move(item.request),
                                  &replies_);
    item.shard->Unreserve(item_bytes);
    NoteHandled(item.session, item_bytes);
    bytes += item_bytes;
    if (++items == items_max || bytes >= bytes_max) {
      Deliver();
      items = 0;
      bytes = 0;
    }
  }
}

void ShardRunner::NoteHandled(SessionId session, int64_t bytes) {
  if (bytes > 0) {
    if (Client* const client = Touch(session)) {
      client->handled_bytes += bytes;
    }
  }
}

// The client, which Deliver will look at; null when its session is closed.
ShardRunner::Client* ShardRunner::Touch(SessionId session) {
  const auto found = clients_.find(session);
  if (found == clients_.end()) {
    return nullptr;
  }
  Client* const client = &found->second;
  if (!client->touched) {
    client->touched = true;
    touched_.push_back(session);
  }
  return client;
}

// Nobody hears of what a crash could undo.
void ShardRunner::CommitLogs() {
  for (HostedShard* const shard : shards_) {
    if (shard->log() != nullptr && !shard->machine()->closed()) {
      const absl::Status status = shard->log()->Commit();
      if (!status.ok()) {
        CloseShard(shard, status);
      }
    }
  }
}

// What it applied since the last commit may be lost: whoever would hear of it
// is refused instead.
void ShardRunner::CloseShard(HostedShard* shard, const absl::Status& why) {
  const Refusal refusal = LogFailed(shard->shard(), why);
  const ChunkLayout& layout = shard->machine()->state().job().layout;
  Shard::Replies replies;
  replies.swap(replies_);
  for (Shard::Reply& reply : replies) {
    const ReplyPlace place = PlaceOf(reply.reply);
    if (place.chunk < 0 || layout.chunk(place.chunk).shard != shard->shard()) {
      replies_.push_back(std::move(reply));
    } else if (place.expected) {
      replies_.push_back(
          {reply.session,
           RequestError{place.chunk, place.step, place.sequence, refusal.status,
                        refusal.reason, refusal.retry_after_ms}});
    }
  }
  shard->machine()->Close(refusal, &replies_);
}

void ShardRunner::Deliver() {
  if (keeps_logs_.load()) {
    CommitLogs();
  }
  PublishAll();  // first: who has a reply finds its effect in Progress
  for (Shard::Reply& reply : replies_) {
    if (Client* const client = Touch(reply.session)) {
      client->outbox.push_back(std::move(reply.reply));
    }
  }
  replies_.clear();
  for (const SessionId session : touched_) {
    const auto found = clients_.find(session);
    if (found == clients_.end()) {
      continue;
    }
    Client& client = found->second;
    client.touched = false;
    std::vector<ShardReply> outbox = std::move(client.outbox);
    client.outbox.clear();
    const int64_t handled_bytes = std::exchange(client.handled_bytes, 0);
    if (!client.session->open.load()) {
      continue;
    }
    if (handled_bytes > 0) {
      client.session->sink->OnHandled(handled_bytes);
    }
    if (!outbox.empty()) {
      client.session->sink->OnReplies(std::move(outbox));
    }
  }
  touched_.clear();
}

void ShardRunner::PublishAll() {
  for (HostedShard* shard : shards_) {
    shard->Publish();
  }
}

void ShardRunner::Host(HostedShard* shard, ShardSeat seat) {
  const bool again = shard->machine() != nullptr;
  if (!again) {
    shards_.push_back(shard);
  } else {
    shard->machine()->RefuseWaiting(
        {absl::AbortedError("the shard went back to a checkpoint"),
         ErrorReason::kStaleIncarnation},
        &replies_);
    Deliver();
  }
  ShardLog* const log = seat.log.get();
  std::unique_ptr<Shard> machine;
  if (log == nullptr) {
    machine = std::make_unique<Shard>(std::move(seat.state));
  } else {
    machine = std::make_unique<Shard>(
        std::move(seat.state),
        Shard::LogPosition{log->next_sequence(), seat.version_begin},
        [log](const ShardOp& op) { (void)log->Append(op); });
    keeps_logs_.store(true);
  }
  for (const auto& [session, client] : clients_) {
    machine->OpenSession(session, client.session->worker, &replies_);
  }
  if (again && !clients_.empty()) {
    machine->RefuseSessionsUpTo(clients_.rbegin()->first);
  }
  if (worker_ids_.has_value()) {
    machine->SetWorkers(*worker_ids_, &replies_);
  }
  shard->Seat(std::move(machine), std::move(seat.log));
  shard->Publish();
}

void ShardRunner::OpenSession(SessionId session,
                              std::shared_ptr<HostSession> client) {
  const WorkerIdentity worker = client->worker;
  clients_.insert_or_assign(session, Client{std::move(client), {}, 0, false});
  for (HostedShard* shard : shards_) {
    shard->machine()->OpenSession(session, worker, &replies_);
  }
}

void ShardRunner::CloseSession(SessionId session) {
  for (HostedShard* shard : shards_) {
    shard->machine()->CloseSession(session);
  }
  clients_.erase(session);
}

void ShardRunner::SetWorkers(const std::vector<int32_t>& worker_ids) {
  worker_ids_ = worker_ids;
  for (HostedShard* shard : shards_) {
    shard->machine()->SetWorkers(worker_ids, &replies_);
  }
}

}  // namespace selari
