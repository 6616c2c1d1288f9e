#include "server/shard/shard_runner.h"

#include <algorithm>
#include <utility>

namespace selari {
namespace {

// Replies go out at least this often within a long batch, so that a client
// does not wait for the requests of all others.
constexpr size_t kItemsPerDelivery = 64;
constexpr int64_t kBytesPerDelivery = int64_t{1} << 20;

int64_t GradientBytes(const ShardRequest& request) {
  const auto* push = std::get_if<ChunkPush>(&request);
  return push == nullptr ? 0 : push->gradient.size_bytes();
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

void ShardRunner::Submit(absl::Span<Item> items) {
  MutexLock lock(&mu_);
  const bool was_empty = incoming_.empty();
  for (Item& item : items) {
    incoming_.push_back(std::move(item));
  }
  if (was_empty && !running_ && !paused_) {
    changed_.NotifyAll();
  }
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
  while (running_) {
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
  }
}

// Takes controls and, unless paused, requests. False at the end.
bool ShardRunner::WaitForWork(std::vector<Control>* controls) {
  MutexLock lock(&mu_);
  if (running_) {
    running_ = false;
    if (paused_) {
      changed_.NotifyAll();
    }
  }
  const auto requests_wait = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return !paused_ && (position_ < batch_.size() || !incoming_.empty());
  };
  while (!ending_ && controls_.empty() && !requests_wait()) {
    changed_.Wait(&mu_);
  }
  if (ending_) {
    return false;
  }
  controls->swap(controls_);
  running_ = requests_wait();
  if (running_ && position_ == batch_.size()) {
    batch_.clear();
    position_ = 0;
    batch_.swap(incoming_);
  }
  // Without requests the batch must not be touched: attention stays set.
  attention_.store(!running_);
  return true;
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
    bytes += item_bytes;
    if (++items == kItemsPerDelivery || bytes >= kBytesPerDelivery) {
      Deliver();
      items = 0;
      bytes = 0;
    }
  }
}

void ShardRunner::Deliver() {
  PublishAll();  // first: who has a reply finds its effect in Progress
  for (Shard::Reply& reply : replies_) {
    const auto client = clients_.find(reply.session);
    if (client == clients_.end()) {
      continue;  // closed
    }
    if (client->second.outbox.empty()) {
      touched_.push_back(reply.session);
    }
    client->second.outbox.push_back(std::move(reply.reply));
  }
  replies_.clear();
  for (const SessionId session : touched_) {
    Client& client = clients_.find(session)->second;
    std::vector<ShardReply> outbox = std::move(client.outbox);
    client.outbox.clear();
    if (client.session->open.load()) {
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
  if (shard->machine() == nullptr) {
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
  if (worker_ids_.has_value()) {
    machine->SetWorkers(*worker_ids_, &replies_);
  }
  shard->set_machine(std::move(machine));
  shard->Publish();
}

void ShardRunner::OpenSession(SessionId session,
                              std::shared_ptr<HostSession> client) {
  const WorkerIdentity worker = client->worker;
  clients_.insert_or_assign(session, Client{std::move(client), {}});
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
