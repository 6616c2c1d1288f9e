#include "worker/client/grpc_transport.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_join.h"
#include "common/chunk_layout.h"
#include "common/clock.h"
#include "common/grpc_channel.h"
#include "common/job_layout.h"
#include "common/mutex.h"
#include "common/shared_buffers.h"
#include "common/status.h"
#include "worker/client/server_link.h"

namespace selari {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The server of the map that hosts what `server` does. FAILED_PRECONDITION when
// there is none.
absl::StatusOr<const v1::ServerEntry*> FindServer(
    const v1::ShardMap& map, const ServerLink::Options& server) {
  if (map.shard_owners_size() != server.layout->shard_count()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "shard map ", map.version(), " has ", map.shard_owners_size(),
        " shards, the job has ", server.layout->shard_count()));
  }
  for (const int32_t shard : server.shards) {
    if (map.shard_owners(shard) != server.server_id) {
      return absl::FailedPreconditionError(absl::StrCat(
          "shard map ", map.version(), " moves shard ", shard, " from server ",
          server.server_id, " to server ", map.shard_owners(shard)));
    }
  }
  for (const v1::ServerEntry& entry : map.servers()) {
    if (entry.server_id() == server.server_id) {
      return &entry;
    }
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "shard map ", map.version(), " has no server ", server.server_id));
}

class GrpcTransport final : public ShardTransport {
 public:
  GrpcTransport(std::vector<ServerLink::Options> servers,
                std::shared_ptr<const ChunkLayout> layout,
                std::unique_ptr<SharedBuffers> shared,
                GrpcTransportOptions options)
      : layout_(std::move(layout)),
        shared_(std::move(shared)),
        options_(std::move(options)),
        servers_(std::move(servers)),
        map_version_(servers_.front().hello.shard_map_version),
        link_of_shard_(layout_->shard_count(), -1) {
    for (size_t i = 0; i < servers_.size(); ++i) {
      for (const int32_t shard : servers_[i].shards) {
        link_of_shard_[shard] = static_cast<int>(i);
      }
    }
  }

  ~GrpcTransport() override { Stop(); }

  absl::Status Start(Listener* listener, int64_t timeout_ms) override;
  void InterruptStart() override;
  void Send(std::vector<ShardRequest> requests) override;
  void WaitForWindow() override;
  void Stop() override;
  TransportStats Stats() const override;
  absl::Status UseMap(const v1::ShardMap& map) override;
  bool SomeServerIsAway() const override;
  std::shared_ptr<FloatBuffer> NewBuffer(int64_t floats) override;

 private:
  int32_t ShardOf(const ShardRequest& request) const;
  // The transport's thread: opens links, tells who is missing, gives up.
  void Run();
  // One look at all links; returns when to look again.
  int64_t Look(int64_t now_ms);
  // One sentence about the missing servers; empty when all are there.
  std::string Missing(int64_t now_ms, int64_t gives_up_ms) const;
  void Fail(const absl::Status& status);

  const std::shared_ptr<const ChunkLayout> layout_;
  const std::unique_ptr<SharedBuffers> shared_;  // null: none is offered
  const GrpcTransportOptions options_;
  const SystemClock clock_;

  // Taken before mu_ and before a link's lock.
  mutable Mutex map_mu_;
  // What each link connects to, by the newest map.
  std::vector<ServerLink::Options> servers_ ABSL_GUARDED_BY(map_mu_);
  int64_t map_version_ ABSL_GUARDED_BY(map_mu_);
  std::vector<int> link_of_shard_;  // constant

  // Constant after Start. Start makes the links under map_mu_, for whoever
  // calls meanwhile.
  Listener* listener_ = nullptr;
  std::vector<std::unique_ptr<ServerLink>> links_;
  std::thread thread_;

  // Used by the transport's thread only.
  int64_t next_report_ms_ = 0;

  Mutex mu_;
  CondVar changed_;
  bool look_ ABSL_GUARDED_BY(mu_) = false;  // a link changed
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  // While Start waits it decides when to give up, not give_up_ms.
  int64_t start_deadline_ms_ ABSL_GUARDED_BY(mu_) = 0;
  bool starting_ ABSL_GUARDED_BY(mu_) = false;
  bool all_up_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mu_);
};

absl::Status GrpcTransport::Start(Listener* listener, int64_t timeout_ms) {
  listener_ = listener;
  const auto changed = [this] {
    MutexLock lock(&mu_);
    look_ = true;
    changed_.NotifyAll();
  };
  {
    MutexLock lock(&map_mu_);
    for (ServerLink::Options server : servers_) {
      server.clock = &clock_;
      auto channel = CreateGrpcChannel(server.address, options_.credentials);
      links_.push_back(std::make_unique<ServerLink>(
          std::move(server), std::move(channel), listener_, changed));
    }
  }
  next_report_ms_ = clock_.NowMs() + options_.waiting_first_ms;
  MutexLock lock(&mu_);
  starting_ = true;
  start_deadline_ms_ = clock_.NowMs() + timeout_ms;
  thread_ = std::thread([this] { Run(); });
  while (!all_up_ && failure_.ok() && !stopping_) {
    changed_.Wait(&mu_);
  }
  starting_ = false;
  if (!all_up_ && failure_.ok()) {
    return absl::CancelledError("stopped while connecting");
  }
  return failure_;
}

int32_t GrpcTransport::ShardOf(const ShardRequest& request) const {
  if (const auto* push = std::get_if<ChunkPush>(&request)) {
    return layout_->chunk(push->chunk).shard;
  }
  if (const auto* pull = std::get_if<ChunkPull>(&request)) {
    return layout_->chunk(pull->chunk).shard;
  }
  return std::get<ReductionTotals>(request).shard;
}

void GrpcTransport::Send(std::vector<ShardRequest> requests) {
  std::vector<std::vector<ShardRequest>> by_link(links_.size());
  for (ShardRequest& request : requests) {
    by_link[link_of_shard_[ShardOf(request)]].push_back(std::move(request));
  }
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!by_link[i].empty()) {
      links_[i]->Send(std::move(by_link[i]));
    }
  }
}

void GrpcTransport::WaitForWindow() {
  for (const auto& link : links_) {
    link->WaitForWindow();
  }
}

void GrpcTransport::InterruptStart() {
  MutexLock lock(&mu_);
  stopping_ = true;
  changed_.NotifyAll();
}

void GrpcTransport::Stop() {
  InterruptStart();
  if (thread_.joinable()) {
    thread_.join();
  }
  for (const auto& link : links_) {
    link->Stop();
  }
}

TransportStats GrpcTransport::Stats() const {
  TransportStats total;
  for (const auto& link : links_) {
    const TransportStats stats = link->Stats();
    total.bytes_sent += stats.bytes_sent;
    total.bytes_received += stats.bytes_received;
    total.bytes_shared += stats.bytes_shared;
  }
  return total;
}

absl::Status GrpcTransport::UseMap(const v1::ShardMap& map) {
  MutexLock lock(&map_mu_);
  if (map.version() <= map_version_) {
    return absl::OkStatus();
  }
  std::vector<const v1::ServerEntry*> entries;
  for (const ServerLink::Options& server : servers_) {
    SELARI_ASSIGN_OR_RETURN(entries.emplace_back(), FindServer(map, server));
  }
  map_version_ = map.version();
  for (size_t i = 0; i < servers_.size(); ++i) {
    ServerLink::Options& server = servers_[i];
    const v1::ServerEntry& entry = *entries[i];
    const bool moved = server.address != entry.address() ||
                       server.incarnation != entry.incarnation();
    server.address = entry.address();
    server.incarnation = entry.incarnation();
    server.hello.shard_map_version = map.version();
    if (links_.empty()) {
      continue;  // Start comes later
    }
    links_[i]->set_shard_map_version(map.version());
    if (moved) {
      links_[i]->MoveTo(
          server.address, server.incarnation,
          CreateGrpcChannel(server.address, options_.credentials));
    }
  }
  return absl::OkStatus();
}

bool GrpcTransport::SomeServerIsAway() const {
  MutexLock lock(&map_mu_);
  return std::any_of(links_.begin(), links_.end(),
                     [](const std::unique_ptr<ServerLink>& link) {
                       return link->status().state != ServerLink::State::kUp;
                     });
}

std::shared_ptr<FloatBuffer> GrpcTransport::NewBuffer(int64_t floats) {
  const auto shares = [](const std::unique_ptr<ServerLink>& link) {
    return link->status().shares_memory;
  };
  return std::any_of(links_.begin(), links_.end(), shares)
             ? shared_->Allocate(floats)
             : FloatBuffer::Allocate(floats);
}

void GrpcTransport::Run() {
  MutexLock lock(&mu_);
  while (!stopping_) {
    look_ = false;
    mu_.Unlock();
    const int64_t now_ms = clock_.NowMs();
    const int64_t next_ms = Look(now_ms);
    mu_.Lock();
    if (!look_ && !stopping_) {
      if (next_ms == kNever) {
        changed_.Wait(&mu_);
      } else {
        changed_.WaitFor(&mu_, std::chrono::milliseconds(
                                   std::max<int64_t>(next_ms - now_ms, 1)));
      }
    }
  }
}

int64_t GrpcTransport::Look(int64_t now_ms) {
  int64_t next_ms = kNever;
  int64_t away_since_ms = kNever;
  for (const auto& link : links_) {
    next_ms = std::min(next_ms, link->Tick());
    const ServerLink::Status status = link->status();
    if (status.state == ServerLink::State::kFailed) {
      Fail(status.error);
      return kNever;
    }
    if (status.state != ServerLink::State::kUp) {
      away_since_ms = std::min(away_since_ms, status.since_ms);
    }
  }
  bool starting = false;
  int64_t gives_up_ms = 0;
  {
    MutexLock lock(&mu_);
    starting = starting_;
    if (!failure_.ok()) {
      return kNever;
    }
    if (away_since_ms == kNever) {
      all_up_ = true;
      changed_.NotifyAll();
      next_report_ms_ = 0;
      return next_ms;
    }
    gives_up_ms =
        starting ? start_deadline_ms_ : away_since_ms + options_.give_up_ms;
  }
  if (now_ms >= gives_up_ms) {
    Fail(absl::UnavailableError(Missing(now_ms, gives_up_ms)));
    return kNever;
  }
  if (next_report_ms_ == 0) {
    next_report_ms_ = now_ms + options_.waiting_first_ms;
  }
  if (now_ms >= next_report_ms_) {
    next_report_ms_ = now_ms + options_.waiting_interval_ms;
    if (options_.on_waiting != nullptr) {
      options_.on_waiting(Missing(now_ms, gives_up_ms));
    }
  }
  return std::min({next_ms, next_report_ms_, gives_up_ms});
}

std::string GrpcTransport::Missing(int64_t now_ms, int64_t gives_up_ms) const {
  std::vector<std::string> missing;
  std::string last_name;  // a server's links stand side by side
  for (const auto& link : links_) {
    const ServerLink::Status status = link->status();
    const std::string name = link->name();
    if (status.state != ServerLink::State::kUp && name != last_name) {
      last_name = name;
      missing.push_back(absl::StrCat(link->Trouble(), " (missing for ",
                                     (now_ms - status.since_ms) / 1000, " s)"));
    }
  }
  return absl::StrCat(absl::StrJoin(missing, "; "),
                      now_ms >= gives_up_ms
                          ? "; gave up"
                          : absl::StrCat("; giving up in ",
                                         (gives_up_ms - now_ms) / 1000, " s"));
}

void GrpcTransport::Fail(const absl::Status& status) {
  bool tell = false;
  {
    MutexLock lock(&mu_);
    if (failure_.ok()) {
      failure_ = status;
      // Start returns the error itself.
      tell = !starting_;
      changed_.NotifyAll();
    }
  }
  for (const auto& link : links_) {
    link->StopWaiting();
  }
  if (tell) {
    listener_->OnFailed(status);
  }
}

absl::Status CheckMap(const v1::ShardMap& map, const ChunkLayout& layout) {
  if (map.shard_owners_size() != layout.shard_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the shard map has ", map.shard_owners_size(),
                     " shards, the job has ", layout.shard_count()));
  }
  for (int i = 0; i < map.shard_owners_size(); ++i) {
    const auto is_owner = [&](const v1::ServerEntry& server) {
      return server.server_id() == map.shard_owners(i);
    };
    if (std::none_of(map.servers().begin(), map.servers().end(), is_owner)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shard map gives shard ", i, " to server ",
                       map.shard_owners(i), ", which it does not list"));
    }
  }
  return absl::OkStatus();
}

// Memory to offer to servers of this machine; null when there is none to be
// had: then tensors travel in messages.
std::unique_ptr<SharedBuffers> MakeSharedBuffers(const ChunkLayout& layout) {
  auto memory =
      SharedMemory::Lend(SharedMemory::BytesForModel(layout.floats()));
  return memory.ok() ? std::make_unique<SharedBuffers>(*std::move(memory))
                     : nullptr;
}

// How many streams carry these shards: one while little is to be moved, as a
// frame then costs more than its bytes.
size_t StreamCount(const ChunkLayout& layout,
                   const std::vector<int32_t>& shards, int32_t streams_max) {
  constexpr int64_t kStreamFloatsMin = 1 << 20;
  int64_t floats = 0;
  for (const int32_t shard : shards) {
    for (const ChunkSpec& chunk : layout.ChunksOfShard(shard)) {
      floats += chunk.count;
    }
  }
  const int64_t useful = std::max<int64_t>(1, floats / kStreamFloatsMin);
  return std::min({static_cast<size_t>(streams_max),
                   static_cast<size_t>(useful), shards.size()});
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShardTransport>> MakeGrpcTransport(
    const v1::ResolvedJob& job, const v1::ShardMap& shard_map,
    const WorkerIdentity& worker, const GrpcTransportOptions& options) {
  SELARI_ASSIGN_OR_RETURN(ChunkLayout layout, MakeChunkLayout(job));
  SELARI_RETURN_IF_ERROR(CheckMap(shard_map, layout));
  const auto shared_layout =
      std::make_shared<const ChunkLayout>(std::move(layout));
  std::unique_ptr<SharedBuffers> shared;
  if (options.offer_shared_memory &&
      job.job().cluster().shared_memory() != v1::SHARED_MEMORY_USE_OFF) {
    shared = MakeSharedBuffers(*shared_layout);
  }
  std::vector<ServerLink::Options> servers;
  for (const v1::ServerEntry& entry : shard_map.servers()) {
    ServerLink::Options server;
    server.server_id = entry.server_id();
    server.address = entry.address();
    server.incarnation = entry.incarnation();
    server.server_may_return =
        job.job().checkpointing().durability() == v1::DURABILITY_JOURNALED;
    server.hello = {job.job_id(), worker, shard_map.version(), std::nullopt};
    if (shared != nullptr) {
      server.shared_memory = shared->memory();
      server.hello.shared_memory = shared->memory()->offer();
    }
    server.layout = shared_layout;
    server.frame_bytes_max = options.frame_bytes_max;
    std::vector<int32_t> shards;
    for (int i = 0; i < shard_map.shard_owners_size(); ++i) {
      if (shard_map.shard_owners(i) == entry.server_id()) {
        shards.push_back(i);
      }
    }
    // A server without shards (more servers than shards) is left alone.
    const size_t streams =
        StreamCount(*shared_layout, shards, options.streams_per_server);
    for (size_t stream = 0; stream < streams; ++stream) {
      server.shards.clear();
      for (size_t i = stream; i < shards.size(); i += streams) {
        server.shards.push_back(shards[i]);
      }
      servers.push_back(server);
    }
  }
  return std::unique_ptr<ShardTransport>(new GrpcTransport(
      std::move(servers), shared_layout, std::move(shared), options));
}

absl::StatusOr<std::unique_ptr<ShardTransport>> MakeGrpcTransport(
    const v1::ResolvedJob& job, const v1::ShardMap& shard_map,
    const WorkerIdentity& worker) {
  GrpcTransportOptions options;
  const int64_t timeout_s = job.job().cluster().join_timeout_s();
  if (timeout_s > 0) {
    options.give_up_ms = timeout_s * 1000;
  }
  options.on_waiting = [id = worker.worker_id](const std::string& sentence) {
    std::fprintf(stderr, "worker %d: %s\n", id, sentence.c_str());
  };
  return MakeGrpcTransport(job, shard_map, worker, options);
}

}  // namespace selari
