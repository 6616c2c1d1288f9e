#include "server/shard/shard_host.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/mutex.h"
#include "common/status.h"
#include "server/shard/admission.h"
#include "server/shard/capture_gatherer.h"
#include "server/shard/hosted_shard.h"
#include "server/shard/shard_runner.h"
#include "server/shard/status_gatherer.h"

namespace selari {
namespace {

// Without a queue to look at, a guess of when one that is full has room.
constexpr int32_t kQueueRetryAfterMs = 20;
constexpr int32_t kTotalsRoomFactor = 2;

// Which shards are here. Replaced as a whole; readers take no lock.
struct Routing {
  std::shared_ptr<const ShardJob> job;  // null when there is none
  std::vector<HostedShard*> shards;     // by number; null: not here
};

class ThreadedShardHost : public ShardHost {
 public:
  explicit ThreadedShardHost(const Options& options) : options_(options) {
    SELARI_CHECK(options_.threads >= 1 && options_.queue_bytes_max > 0 &&
                 options_.queue_length_max > 0);
    PublishRouting(std::make_unique<Routing>());
    for (int32_t i = 0; i < options_.threads; ++i) {
      runners_.push_back(std::make_unique<ShardRunner>());
    }
  }
  ~ThreadedShardHost() override {
    runners_.clear();  // before the shards that they run
  }

  absl::Status Initialize(std::shared_ptr<const ShardJob> job,
                          const std::vector<int32_t>& shards) override;
  absl::Status Reinitialize(std::shared_ptr<const ShardJob> job,
                            const std::vector<int32_t>& shards) override;
  absl::Status Restore(std::shared_ptr<const ShardJob> job,
                       std::vector<ShardSnapshot> snapshots) override;
  absl::Status Host(std::shared_ptr<const ShardJob> job,
                    std::map<int32_t, MakeShardSeat> makers) override;
  std::shared_ptr<const ShardJob> job() const override { return routing().job; }
  std::vector<int32_t> shards() const override;

  SessionId Connect(const WorkerIdentity& worker,
                    std::shared_ptr<ReplySink> sink) override;
  void Disconnect(SessionId session) override;
  void Submit(SessionId session, std::vector<ShardRequest> requests) override;

  void SetWorkers(const std::vector<int32_t>& worker_ids) override;
  std::vector<ShardProgress> Pause() override;
  void Resume() override;
  std::vector<ShardProgress> Progress() const override;
  std::vector<ShardMetrics> Metrics() const override;
  void Capture(int64_t step, bool stop, CaptureCallback done) override;
  void DropCaptures() override;
  void TrimLogs(const std::map<int32_t, int64_t>& sequences,
                std::function<void(absl::Status)> done) override;

 private:
  absl::Status MakeInitial(std::shared_ptr<const ShardJob> job,
                           const std::vector<int32_t>& shards, bool again);
  absl::Status CheckJob(const ShardJob& job) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mu_);
  absl::Status HostShards(std::shared_ptr<const ShardJob> job,
                          const std::map<int32_t, MakeShardSeat>& makers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mu_);
  HostedShard* FindOrAdd(int32_t shard)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(admin_mu_);
  void PublishRouting(std::unique_ptr<const Routing> routing)
      ABSL_NO_THREAD_SAFETY_ANALYSIS;

  const Routing& routing() const {
    return *routing_.load(std::memory_order_acquire);
  }
  std::vector<HostedShard*> Hosted() const;
  HostedShard* Route(const ShardRequest& request,
                     std::optional<Refusal>* refusal) const;
  void Reply(SessionId session, std::vector<ShardReply> replies,
             int64_t handled_bytes);

  const Options options_;
  std::vector<std::unique_ptr<ShardRunner>> runners_;
  std::atomic<const Routing*> routing_{nullptr};

  // Held while shards are added or all are paused; callbacks never take it.
  mutable Mutex admin_mu_;
  std::vector<std::unique_ptr<const Routing>> routings_
      ABSL_GUARDED_BY(admin_mu_);  // all of them: some thread may read one
  std::map<int32_t, std::unique_ptr<HostedShard>> hosted_
      ABSL_GUARDED_BY(admin_mu_);

  Mutex sessions_mu_;
  SessionId last_session_ ABSL_GUARDED_BY(sessions_mu_) = 0;
  std::map<SessionId, std::shared_ptr<HostSession>> sessions_
      ABSL_GUARDED_BY(sessions_mu_);
};

absl::Status ThreadedShardHost::CheckJob(const ShardJob& job) const {
  const std::shared_ptr<const ShardJob> hosted = routing().job;
  if (hosted != nullptr && hosted->resolved.job_id() != job.resolved.job_id()) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "shards of job ", hosted->resolved.job_id(),
            " are hosted here, not of job ", job.resolved.job_id())),
        ErrorReason::kWrongJob);
  }
  return absl::OkStatus();
}

absl::Status ThreadedShardHost::Initialize(std::shared_ptr<const ShardJob> job,
                                           const std::vector<int32_t>& shards) {
  return MakeInitial(std::move(job), shards, /*again=*/false);
}

absl::Status ThreadedShardHost::Reinitialize(
    std::shared_ptr<const ShardJob> job, const std::vector<int32_t>& shards) {
  return MakeInitial(std::move(job), shards, /*again=*/true);
}

absl::Status ThreadedShardHost::MakeInitial(std::shared_ptr<const ShardJob> job,
                                            const std::vector<int32_t>& shards,
                                            bool again) {
  MutexLock lock(&admin_mu_);
  SELARI_RETURN_IF_ERROR(CheckJob(*job));
  std::map<int32_t, MakeShardSeat> makers;
  for (const int32_t shard : shards) {
    if (shard < 0 || shard >= job->layout.shard_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no shard ", shard, ": the job has ",
                       job->layout.shard_count(), " shards"));
    }
    const auto hosted = hosted_.find(shard);
    if (again || hosted == hosted_.end() || !hosted->second->seated()) {
      makers[shard] = [job, shard]() -> absl::StatusOr<ShardSeat> {
        return ShardSeat{ShardState::Initial(job, shard), nullptr, 0};
      };
    }
  }
  return HostShards(std::move(job), makers);
}

absl::Status ThreadedShardHost::Restore(std::shared_ptr<const ShardJob> job,
                                        std::vector<ShardSnapshot> snapshots) {
  MutexLock lock(&admin_mu_);
  SELARI_RETURN_IF_ERROR(CheckJob(*job));
  std::map<int32_t, MakeShardSeat> makers;
  for (const ShardSnapshot& snapshot : snapshots) {
    SELARI_ASSIGN_OR_RETURN(std::unique_ptr<ShardState> state,
                            ShardState::FromSnapshot(job, snapshot));
    auto holder =
        std::make_shared<std::unique_ptr<ShardState>>(std::move(state));
    const auto maker = [holder]() -> absl::StatusOr<ShardSeat> {
      return ShardSeat{std::move(*holder), nullptr, 0};
    };
    if (!makers.emplace(snapshot.shard, maker).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two snapshots of shard ", snapshot.shard));
    }
  }
  return HostShards(std::move(job), makers);
}

absl::Status ThreadedShardHost::Host(std::shared_ptr<const ShardJob> job,
                                     std::map<int32_t, MakeShardSeat> makers) {
  MutexLock lock(&admin_mu_);
  SELARI_RETURN_IF_ERROR(CheckJob(*job));
  return HostShards(std::move(job), makers);
}

// Each thread makes its own shards: side by side, with their memory near it.
absl::Status ThreadedShardHost::HostShards(
    std::shared_ptr<const ShardJob> job,
    const std::map<int32_t, MakeShardSeat>& makers) {
  const auto made = std::make_shared<StatusGatherer>(makers.size());
  for (const auto& [number, maker] : makers) {
    HostedShard* const shard = FindOrAdd(number);
    shard->runner()->Post([shard, &maker = maker, made] {
      absl::StatusOr<ShardSeat> seat = maker();
      const absl::Status status = seat.status();
      if (status.ok()) {
        shard->runner()->Host(shard, *std::move(seat));
      }
      made->Add(status);
    });
  }
  absl::Status status = made->Wait();
  auto routing = std::make_unique<Routing>();
  routing->shards.resize(job->layout.shard_count());
  routing->job = std::move(job);
  for (const auto& [number, shard] : hosted_) {
    if (shard->seated()) {
      routing->shards[number] = shard.get();
    }
  }
  PublishRouting(std::move(routing));
  return status;
}

HostedShard* ThreadedShardHost::FindOrAdd(int32_t shard) {
  const size_t runner = hosted_.size() % runners_.size();
  std::unique_ptr<HostedShard>& hosted = hosted_[shard];
  if (hosted == nullptr) {
    hosted = std::make_unique<HostedShard>(shard, runners_[runner].get());
  }
  return hosted.get();
}

void ThreadedShardHost::PublishRouting(std::unique_ptr<const Routing> routing) {
  routing_.store(routing.get(), std::memory_order_release);
  routings_.push_back(std::move(routing));
}

std::vector<HostedShard*> ThreadedShardHost::Hosted() const {
  std::vector<HostedShard*> hosted;
  for (HostedShard* shard : routing().shards) {
    if (shard != nullptr) {
      hosted.push_back(shard);
    }
  }
  return hosted;
}

std::vector<int32_t> ThreadedShardHost::shards() const {
  std::vector<int32_t> numbers;
  for (const HostedShard* shard : Hosted()) {
    numbers.push_back(shard->shard());
  }
  return numbers;
}

ShardHost::SessionId ThreadedShardHost::Connect(
    const WorkerIdentity& worker, std::shared_ptr<ReplySink> sink) {
  auto session = std::make_shared<HostSession>();
  session->worker = worker;
  session->sink = std::move(sink);
  // Under the lock, so that all runners see sessions in the same order.
  MutexLock lock(&sessions_mu_);
  const SessionId id = ++last_session_;
  sessions_[id] = session;
  for (const std::unique_ptr<ShardRunner>& owned : runners_) {
    ShardRunner* const runner = owned.get();
    runner->Post([runner, id, session] { runner->OpenSession(id, session); });
  }
  return id;
}

void ThreadedShardHost::Disconnect(SessionId session) {
  MutexLock lock(&sessions_mu_);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    return;
  }
  found->second->open.store(false);
  sessions_.erase(found);
  for (const std::unique_ptr<ShardRunner>& owned : runners_) {
    ShardRunner* const runner = owned.get();
    runner->Post([runner, session] { runner->CloseSession(session); });
  }
}

// Null, with the reason, when the request has nowhere to go.
HostedShard* ThreadedShardHost::Route(const ShardRequest& request,
                                      std::optional<Refusal>* refusal) const {
  const Routing& routing = this->routing();
  if (routing.job == nullptr) {
    *refusal =
        Refusal{absl::FailedPreconditionError("this server hosts no shard yet"),
                ErrorReason::kNotInitialized, kQueueRetryAfterMs};
    return nullptr;
  }
  int32_t number = -1;
  if (const auto* totals = std::get_if<ReductionTotals>(&request)) {
    number = totals->shard;
  } else {
    const auto* push = std::get_if<ChunkPush>(&request);
    const int32_t chunk =
        push != nullptr ? push->chunk : std::get<ChunkPull>(request).chunk;
    const ChunkLayout& layout = routing.job->layout;
    if (chunk < 0 || static_cast<size_t>(chunk) >= layout.chunks().size()) {
      *refusal = UnknownChunk(*routing.job, chunk);
      return nullptr;
    }
    number = layout.chunk(chunk).shard;
  }
  HostedShard* const shard =
      number >= 0 && static_cast<size_t>(number) < routing.shards.size()
          ? routing.shards[number]
          : nullptr;
  if (shard == nullptr) {
    *refusal = Refusal{absl::FailedPreconditionError(absl::StrCat(
                           "shard ", number, " is not hosted here")),
                       ErrorReason::kWrongShard};
  }
  return shard;
}

ShardReply RefuseRequest(const ShardRequest& request, Refusal refusal) {
  if (const auto* push = std::get_if<ChunkPush>(&request)) {
    return RefusePush(*push, std::move(refusal));
  }
  if (const auto* pull = std::get_if<ChunkPull>(&request)) {
    return RefusePull(*pull, std::move(refusal));
  }
  return RefuseTotals(std::get<ReductionTotals>(request), std::move(refusal));
}

void ThreadedShardHost::Submit(SessionId session,
                               std::vector<ShardRequest> requests) {
  std::vector<ShardRunner::Item> items;
  std::vector<ShardReply> refused;
  int64_t refused_bytes = 0;
  items.reserve(requests.size());
  for (ShardRequest& request : requests) {
    std::optional<Refusal> refusal;
    HostedShard* const shard = Route(request, &refusal);
    // Totals are few and a step waits for them: a queue that is full of other
    // requests still has room for them.
    const bool totals = std::holds_alternative<ReductionTotals>(request);
    const int64_t length_max =
        int64_t{options_.queue_length_max} * (totals ? kTotalsRoomFactor : 1);
    if (shard != nullptr &&
        !shard->Reserve(GradientBytes(request), options_.queue_bytes_max,
                        length_max)) {
      refusal =
          Refusal{absl::ResourceExhaustedError(absl::StrCat(
                      "the queue of shard ", shard->shard(),
                      " is full: ", options_.queue_bytes_max, " bytes or ",
                      options_.queue_length_max, " requests wait")),
                  ErrorReason::kQueueFull, kQueueRetryAfterMs};
    }
    if (refusal.has_value()) {
      refused_bytes += GradientBytes(request);
      refused.push_back(RefuseRequest(request, *std::move(refusal)));
    } else {
      items.push_back({shard, session, std::move(request)});
    }
  }
  // One lock for each runner; the order within a shard is kept.
  std::stable_sort(items.begin(), items.end(),
                   [](const ShardRunner::Item& a, const ShardRunner::Item& b) {
                     return std::less<>()(a.shard->runner(), b.shard->runner());
                   });
  for (size_t begin = 0; begin < items.size();) {
    ShardRunner* const runner = items[begin].shard->runner();
    size_t end = begin;
    int64_t bytes = 0;
    while (end < items.size() && items[end].shard->runner() == runner) {
      bytes += GradientBytes(items[end].request);
      ++end;
    }
    runner->Submit(absl::MakeSpan(items).subspan(begin, end - begin),
                   /*run=*/bytes <= options_.run_in_submit_bytes_max);
    begin = end;
  }
  if (!refused.empty()) {
    Reply(session, std::move(refused), refused_bytes);
  }
}

void ThreadedShardHost::Reply(SessionId session,
                              std::vector<ShardReply> replies,
                              int64_t handled_bytes) {
  std::shared_ptr<HostSession> client;
  {
    MutexLock lock(&sessions_mu_);
    const auto found = sessions_.find(session);
    if (found == sessions_.end()) {
      return;
    }
    client = found->second;
  }
  client->sink->OnHandled(handled_bytes);
  client->sink->OnReplies(std::move(replies));
}

void ThreadedShardHost::SetWorkers(const std::vector<int32_t>& worker_ids) {
  for (const std::unique_ptr<ShardRunner>& owned : runners_) {
    ShardRunner* const runner = owned.get();
    runner->Post([runner, worker_ids] { runner->SetWorkers(worker_ids); });
  }
}

std::vector<ShardProgress> ThreadedShardHost::Pause() {
  MutexLock lock(&admin_mu_);
  for (const std::unique_ptr<ShardRunner>& runner : runners_) {
    runner->Pause();
  }
  return Progress();
}

void ThreadedShardHost::Resume() {
  MutexLock lock(&admin_mu_);
  for (const std::unique_ptr<ShardRunner>& runner : runners_) {
    runner->Resume();
  }
}

std::vector<ShardProgress> ThreadedShardHost::Progress() const {
  std::vector<ShardProgress> progress;
  for (const HostedShard* shard : Hosted()) {
    progress.push_back(shard->Progress());
  }
  return progress;
}

std::vector<ShardMetrics> ThreadedShardHost::Metrics() const {
  std::vector<ShardMetrics> metrics;
  for (const HostedShard* shard : Hosted()) {
    metrics.push_back(shard->Metrics());
  }
  return metrics;
}

void ThreadedShardHost::Capture(int64_t step, bool stop, CaptureCallback done) {
  const std::vector<HostedShard*> hosted = Hosted();
  if (hosted.empty()) {
    done(WithReason(
        absl::FailedPreconditionError("this server hosts no shard yet"),
        ErrorReason::kNotInitialized));
    return;
  }
  auto gatherer =
      std::make_shared<CaptureGatherer>(hosted.size(), std::move(done));
  for (HostedShard* const shard : hosted) {
    shard->runner()->Post([shard, step, stop, gatherer] {
      shard->machine()->Capture(
          step, stop,
          [gatherer](absl::StatusOr<ShardSnapshot> snapshot) {
            gatherer->Add(std::move(snapshot));
          },
          shard->runner()->replies());
    });
  }
}

void ThreadedShardHost::DropCaptures() {
  for (HostedShard* const shard : Hosted()) {
    shard->runner()->Post([shard] { shard->machine()->DropCaptures(); });
  }
}

void ThreadedShardHost::TrimLogs(const std::map<int32_t, int64_t>& sequences,
                                 std::function<void(absl::Status)> done) {
  const std::vector<HostedShard*> hosted = Hosted();
  const auto trimmed =
      std::make_shared<StatusGatherer>(hosted.size(), std::move(done));
  for (HostedShard* const shard : hosted) {
    const auto found = sequences.find(shard->shard());
    if (found == sequences.end()) {
      trimmed->Add(absl::OkStatus());
      continue;
    }
    shard->runner()->Post([shard, sequence = found->second, trimmed] {
      ShardLog* const log = shard->log();
      trimmed->Add(
          log == nullptr
              ? absl::OkStatus()
              : log->Trim(sequence, shard->machine()->state().min_version()));
    });
  }
}

}  // namespace

ShardHost::Options ShardHost::ServerOptions(int32_t threads) {
  // With few processors a gradient is applied by the thread that received it:
  // it is in that processor's cache, and nobody has to be woken. With many, one
  // stream should not wait for the updates of its large frames.
  constexpr int32_t kFewProcessors = 4;
  constexpr int64_t kSmallFrameBytes = 64 << 10;
  const auto processors =
      std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
  Options options;
  options.threads = threads > 0 ? threads : processors;
  options.run_in_submit_bytes_max = processors <= kFewProcessors
                                        ? std::numeric_limits<int64_t>::max()
                                        : kSmallFrameBytes;
  return options;
}

std::unique_ptr<ShardHost> ShardHost::Create(const Options& options) {
  return std::make_unique<ThreadedShardHost>(options);
}

}  // namespace selari
