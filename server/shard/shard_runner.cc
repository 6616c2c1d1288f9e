#include "server/shard/shard_runner.h"

#include <algorithm>
#include <utility>

namespace selari {
namespace {

// Replies go out at least this often within a long batch, so that a client
// does not wait for the requests of all others.
constexpr size_t kItemsPerDelivery = 64;
constexpr int64_t kBytesPerDelivery = int64_t{1} << 20;

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
    if (!run || busy_ || paused_ || ending_ || !controls_.empty()) {
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
  size_t items = 0;
  int64_t bytes = 0;
  while (position_ < batch_.size() &&
         !attention_.load(std::memory_order_relaxed)) {
    Item item = std::move(batch_[position_++]);
    const int64_t item_bytes = GradientBytes(item.request);
    item.shard->machine()->Handle(item.session, std::move(item.request),
                                  &replies_);
    item.shard->Unreserve(item_bytes);
    NoteHandled(item.session, item_bytes);
    bytes += item_bytes;
    if (++items == kItemsPerDelivery || bytes >= kBytesPerDelivery) {
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

void ShardRunner::Deliver() {
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

void ShardRunner::Host(HostedShard* shard, std::unique_ptr<Shard> machine) {
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
  for (const auto& [session, client] : clients_) {
    machine->OpenSession(session, client.session->worker, &replies_);
  }
  if (again && !clients_.empty()) {
    machine->RefuseSessionsUpTo(clients_.rbegin()->first);
  }
  if (worker_ids_.has_value()) {
    machine->SetWorkers(*worker_ids_, &replies_);
  }
  shard->set_machine(std::move(machine));
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
