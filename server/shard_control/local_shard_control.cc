#include "server/shard_control/local_shard_control.h"

#include <algorithm>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/error_reason.h"
#include "common/human.h"
#include "common/status.h"
#include "server/checkpoint/checkpoint_reader.h"
#include "server/checkpoint/restore.h"
#include "server/shard_control/journaled_seats.h"
#include "server/shard_control/write_shard_files.h"

namespace selari {
namespace {

// Finished saves whose answer is kept for a repeated call.
constexpr size_t kFinishedSavesMax = 64;

template <class Response>
Response DescribeShards(const std::vector<ShardProgress>& progress) {
  Response response;
  for (const ShardProgress& shard : progress) {
    v1::ShardStatus* status = response.add_shards();
    status->set_shard(shard.shard);
    status->set_min_version(shard.min_version);
    status->set_max_version(shard.max_version);
    status->set_state_bytes(shard.state_bytes);
    status->set_queue_length(shard.queue_length);
  }
  return response;
}

// The least clock of each worker over the shards.
void DescribeClocks(const std::vector<ShardSnapshot>& snapshots,
                    v1::SaveShardsResponse* response) {
  std::map<int32_t, int64_t> clocks;
  for (const ShardSnapshot& snapshot : snapshots) {
    for (const WorkerClock& worker : snapshot.workers) {
      const auto [known, is_new] =
          clocks.emplace(worker.worker_id, worker.clock);
      if (!is_new) {
        known->second = std::min(known->second, worker.clock);
      }
    }
  }
  for (const auto& [worker, clock] : clocks) {
    v1::WorkerClock* entry = response->add_worker_clocks();
    entry->set_worker_id(worker);
    entry->set_clock(clock);
  }
}

std::vector<int32_t> ShardsOf(const v1::ShardMap& map, int32_t server_id) {
  std::vector<int32_t> shards;
  for (int32_t shard = 0; shard < map.shard_owners_size(); ++shard) {
    if (map.shard_owners(shard) == server_id) {
      shards.push_back(shard);
    }
  }
  return shards;
}

}  // namespace

struct LocalShardControl::Link {
  Mutex mu;
  LocalShardControl* control ABSL_GUARDED_BY(mu) = nullptr;
};

LocalShardControl::LocalShardControl(const Options& options,
                                     Environment environment)
    : options_(options),
      host_(*environment.host),
      file_env_(*environment.file_env),
      clock_(*environment.clock),
      on_ready_(std::move(environment.on_ready)),
      on_end_(std::move(environment.on_end)),
      log_(std::move(environment.log)),
      link_(std::make_shared<Link>()),
      control_executor_(std::move(environment.control_executor)),
      disk_executor_(std::move(environment.disk_executor)) {
  SELARI_CHECK(options_.incarnation != 0);
  SELARI_CHECK(options_.unwritten_captures_max > 0);
  MutexLock lock(&link_->mu);
  link_->control = this;
}

LocalShardControl::~LocalShardControl() {
  {
    // From here on no capture posts any more.
    MutexLock lock(&link_->mu);
    link_->control = nullptr;
  }
  disk_executor_.reset();
  control_executor_.reset();
  if (pause_asked_for_ || pause_for_disk_) {
    host_.Resume();
  }
  CancelSaves();
}

void LocalShardControl::CancelSaves() {
  for (auto& [key, save] : saves_) {
    std::vector<SaveDone> waiting;
    waiting.swap(save.done);
    for (const SaveDone& done : waiting) {
      done(absl::CancelledError("the server ends"));
    }
  }
}

void LocalShardControl::Close() {
  control_executor_->Post([this] {
    closed_ = true;
    CancelSaves();
  });
}

bool LocalShardControl::ending() const {
  MutexLock lock(&link_->mu);
  return link_->control == nullptr;
}

absl::Status LocalShardControl::CheckTarget(const std::string& job_id,
                                            uint64_t incarnation) const {
  if (closed_) {
    return absl::UnavailableError("the server is shutting down");
  }
  if (incarnation != options_.incarnation) {
    return WithReason(
        absl::FailedPreconditionError(
            "this server restarted since the coordinator last heard of it"),
        ErrorReason::kStaleIncarnation);
  }
  if (job_ == nullptr) {
    return WithReason(absl::FailedPreconditionError(
                          "this server has not been given any shards yet"),
                      ErrorReason::kNotInitialized);
  }
  if (job_id != job_->resolved.job_id()) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "this server runs job ", job_->resolved.job_id(),
                          ", not ", job_id)),
                      ErrorReason::kWrongJob);
  }
  return absl::OkStatus();
}

template <class Request, class Response, class Run>
void LocalShardControl::PostTo(const Request& request, Done<Response> done,
                               const Run& run) {
  control_executor_->Post([this, request, done = std::move(done), run] {
    const absl::Status status =
        CheckTarget(request.job_id(), request.incarnation());
    if (status.ok()) {
      run(request, done);
    } else {
      done(status);
    }
  });
}

// Shards.

void LocalShardControl::AssignShards(const v1::AssignShardsRequest& request,
                                     Done<v1::AssignShardsResponse> done) {
  control_executor_->Post([this, request, done = std::move(done)] {
    const bool first = job_ == nullptr;
    const absl::StatusOr<v1::AssignShardsResponse> response = Assign(request);
    if (response.ok() && first && on_ready_ != nullptr) {
      on_ready_();
    }
    done(response);
  });
}

absl::StatusOr<v1::AssignShardsResponse> LocalShardControl::Assign(
    const v1::AssignShardsRequest& request) {
  const v1::ShardMap& map = request.shard_map();
  const std::vector<int32_t> shards = ShardsOf(map, request.server_id());
  if (job_ == nullptr && !closed_ &&
      request.incarnation() == options_.incarnation) {
    SELARI_ASSIGN_OR_RETURN(const std::shared_ptr<const ShardJob> job,
                            ShardJob::Create(request.job()));
    SELARI_RETURN_IF_ERROR(MakeShards(job, shards, request));
    job_ = job;
    shard_map_version_ = map.version();
  }
  SELARI_RETURN_IF_ERROR(
      CheckTarget(request.job().job_id(), request.incarnation()));
  if (map.version() < shard_map_version_) {
    return absl::FailedPreconditionError(
        absl::StrCat("this server has its shards by map ", shard_map_version_,
                     ", map ", map.version(), " is older"));
  }
  if (map.version() > shard_map_version_) {
    if (shards != host_.shards()) {
      return absl::UnimplementedError(
          absl::StrCat("this server has its shards by map ", shard_map_version_,
                       "; moving them to map ", map.version(), " is to come"));
    }
    // The job goes back, or another server has come back: what was captured or
    // paused before is of no use.
    if (request.recover()) {
      host_.DropCaptures();
    } else {
      SELARI_RETURN_IF_ERROR(MakeShards(job_, shards, request));
    }
    SetPauses(/*asked_for=*/false, pause_for_disk_);
    shard_map_version_ = map.version();
  }
  return DescribeShards<v1::AssignShardsResponse>(host_.Progress());
}

absl::Status LocalShardControl::MakeShards(
    const std::shared_ptr<const ShardJob>& job,
    const std::vector<int32_t>& shards,
    const v1::AssignShardsRequest& request) {
  if (request.recover() && request.journal_directory().empty()) {
    return absl::InvalidArgumentError(
        "shards are to be recovered, but no journal_directory is named");
  }
  std::vector<ShardSnapshot> snapshots;
  if (!request.checkpoint().empty()) {
    SELARI_ASSIGN_OR_RETURN(snapshots,
                            ReadSnapshots(*job, shards, request.checkpoint()));
  }
  if (!request.journal_directory().empty()) {
    return MakeJournaledShards(job, shards, std::move(snapshots), request);
  }
  return request.checkpoint().empty()
             ? host_.Reinitialize(job, shards)
             : host_.Restore(job, std::move(snapshots));
}

absl::Status LocalShardControl::MakeJournaledShards(
    const std::shared_ptr<const ShardJob>& job,
    const std::vector<int32_t>& shards, std::vector<ShardSnapshot> snapshots,
    const v1::AssignShardsRequest& request) {
  const int64_t begin_ms = clock_.NowMs();
  JournalTotals totals;
  SELARI_RETURN_IF_ERROR(host_.Host(
      job, JournaledSeats(
               job, shards, std::move(snapshots),
               {&file_env_, request.journal_directory(), request.recover()},
               &totals)));
  if (request.recover() && log_ != nullptr) {
    log_(absl::StrCat("recovered ", CountOf(shards.size(), "shard"), " with ",
                      CountOf(totals.applied.load(), "update"), " of ",
                      totals.ops.load(), " in their journals, in ",
                      clock_.NowMs() - begin_ms, " ms"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ShardSnapshot>> LocalShardControl::ReadSnapshots(
    const ShardJob& job, const std::vector<int32_t>& shards,
    const std::string& checkpoint) {
  SELARI_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> reader,
                          CheckpointReader::Open(file_env_, checkpoint));
  SELARI_RETURN_IF_ERROR(
      CheckSameModel(reader->manifest().job(), job.resolved));
  std::vector<ShardSnapshot> snapshots;
  for (const int32_t shard : shards) {
    SELARI_ASSIGN_OR_RETURN(ShardSnapshot snapshot,
                            ReadShardSnapshot(*reader, job.layout, shard));
    snapshots.push_back(std::move(snapshot));
  }
  return snapshots;
}

void LocalShardControl::TrimJournals(const v1::TrimJournalsRequest& request,
                                     Done<v1::TrimJournalsResponse> done) {
  PostTo(request, std::move(done), [this](const auto& request, auto done) {
    std::map<int32_t, int64_t> sequences;
    const auto save = saves_.find({request.step(), request.directory()});
    if (save != saves_.end() && save->second.finished &&
        save->second.result.ok()) {
      for (const v1::ShardFile& file : save->second.result->files()) {
        sequences[file.shard()] = file.journal_sequence();
      }
    }
    host_.TrimLogs(sequences, [done](const absl::Status& trimmed) {
      done(trimmed.ok() ? absl::StatusOr<v1::TrimJournalsResponse>(
                              v1::TrimJournalsResponse())
                        : trimmed);
    });
  });
}

void LocalShardControl::GetShardStatus(const v1::GetShardStatusRequest& request,
                                       Done<v1::GetShardStatusResponse> done) {
  PostTo(request, std::move(done), [this](const auto& /*request*/, auto done) {
    done(DescribeShards<v1::GetShardStatusResponse>(host_.Progress()));
  });
}

void LocalShardControl::EndJob(const v1::EndJobRequest& request,
                               Done<v1::EndJobResponse> done) {
  control_executor_->Post([this, request, done = std::move(done)] {
    const absl::Status status =
        CheckTarget(request.job_id(), request.incarnation());
    // A job may fail before this server was given anything.
    if (!status.ok() && ReasonOf(status) != ErrorReason::kNotInitialized) {
      done(status);
      return;
    }
    done(v1::EndJobResponse());
    if (!end_announced_ && on_end_ != nullptr) {
      end_announced_ = true;
      on_end_(request);
    }
  });
}

// Pauses.

void LocalShardControl::PauseShards(const v1::PauseShardsRequest& request,
                                    Done<v1::PauseShardsResponse> done) {
  PostTo(request, std::move(done), [this](const auto& /*request*/, auto done) {
    SetPauses(/*asked_for=*/true, pause_for_disk_);
    pause_ends_ms_ = clock_.NowMs() + options_.pause_max_ms;
    done(DescribeShards<v1::PauseShardsResponse>(host_.Progress()));
  });
}

void LocalShardControl::ResumeShards(const v1::ResumeShardsRequest& request,
                                     Done<v1::ResumeShardsResponse> done) {
  PostTo(request, std::move(done), [this](const auto& /*request*/, auto done) {
    SetPauses(/*asked_for=*/false, pause_for_disk_);
    done(v1::ResumeShardsResponse());
  });
}

void LocalShardControl::Tick() {
  control_executor_->Post([this] {
    if (pause_asked_for_ && clock_.NowMs() >= pause_ends_ms_) {
      SetPauses(/*asked_for=*/false, pause_for_disk_);
    }
  });
}

void LocalShardControl::SetPauses(bool asked_for, bool for_disk) {
  const bool paused = pause_asked_for_ || pause_for_disk_;
  pause_asked_for_ = asked_for;
  pause_for_disk_ = for_disk;
  const bool should_pause = asked_for || for_disk;
  if (should_pause && !paused) {
    host_.Pause();
  } else if (!should_pause && paused) {
    host_.Resume();
  }
}

// Saves.

void LocalShardControl::SaveShards(const v1::SaveShardsRequest& request,
                                   Done<v1::SaveShardsResponse> done) {
  control_executor_->Post([this, request, done = std::move(done)] {
    absl::Status status = CheckTarget(request.job_id(), request.incarnation());
    if (status.ok() && request.directory().empty()) {
      status = absl::InvalidArgumentError("no directory to save into");
    }
    if (!status.ok()) {
      done(status);
      return;
    }
    StartSave(request, done);
    if (request.resume()) {
      SetPauses(/*asked_for=*/false, pause_for_disk_);
    }
  });
}

void LocalShardControl::StartSave(const v1::SaveShardsRequest& request,
                                  SaveDone done) {
  const SaveKey key(request.step(), request.directory());
  const auto [found, is_new] = saves_.try_emplace(key);
  Save& save = found->second;
  if (save.finished) {
    done(save.result);
    return;
  }
  save.done.push_back(std::move(done));
  if (!is_new) {
    return;
  }
  host_.Capture(
      request.step(), request.stop(),
      [link = link_,
       key](absl::StatusOr<std::vector<ShardSnapshot>> snapshots) {
        MutexLock lock(&link->mu);
        if (link->control == nullptr) {
          return;
        }
        // Shared, as a std::function must be copyable.
        auto shared =
            std::make_shared<absl::StatusOr<std::vector<ShardSnapshot>>>(
                std::move(snapshots));
        link->control->control_executor_->Post(
            [control = link->control, key, shared] {
              control->OnCaptured(key, std::move(*shared));
            });
      });
}

void LocalShardControl::OnCaptured(
    const SaveKey& key, absl::StatusOr<std::vector<ShardSnapshot>> snapshots) {
  if (snapshots.ok() && ending()) {
    snapshots = absl::CancelledError("the server ends");
  }
  if (!snapshots.ok()) {
    FinishSave(key, snapshots.status());
    return;
  }
  ++unwritten_captures_;
  SetPauses(pause_asked_for_,
            unwritten_captures_ >= options_.unwritten_captures_max);
  auto shared =
      std::make_shared<std::vector<ShardSnapshot>>(*std::move(snapshots));
  disk_executor_->Post([this, key, shared] {
    absl::StatusOr<v1::SaveShardsResponse> result = Write(key.second, *shared);
    // Its memory ends before more may be captured.
    shared->clear();
    control_executor_->Post([this, key, result = std::move(result)] {
      --unwritten_captures_;
      SetPauses(pause_asked_for_,
                unwritten_captures_ >= options_.unwritten_captures_max);
      FinishSave(key, result);
    });
  });
}

absl::StatusOr<v1::SaveShardsResponse> LocalShardControl::Write(
    const std::string& directory, const std::vector<ShardSnapshot>& snapshots) {
  SELARI_RETURN_IF_ERROR(file_env_.CreateDirs(directory));
  v1::SaveShardsResponse response;
  SELARI_ASSIGN_OR_RETURN(
      const std::vector<v1::ShardFile> files,
      WriteShardFiles(file_env_, directory, host_.job()->resolved, snapshots));
  response.mutable_files()->Add(files.begin(), files.end());
  DescribeClocks(snapshots, &response);
  return response;
}

void LocalShardControl::FinishSave(
    const SaveKey& key, absl::StatusOr<v1::SaveShardsResponse> result) {
  Save& save = saves_.at(key);
  save.finished = true;
  save.result = std::move(result);
  std::vector<SaveDone> waiting;
  waiting.swap(save.done);
  for (const SaveDone& done : waiting) {
    done(save.result);
  }
  ForgetOldSaves();
}

// By step, so what goes is what no coordinator will ask for again.
void LocalShardControl::ForgetOldSaves() {
  size_t finished = 0;
  for (const auto& [key, save] : saves_) {
    finished += save.finished ? 1 : 0;
  }
  for (auto it = saves_.begin();
       it != saves_.end() && finished > kFinishedSavesMax;) {
    if (it->second.finished) {
      it = saves_.erase(it);
      --finished;
    } else {
      ++it;
    }
  }
}

}  // namespace selari
