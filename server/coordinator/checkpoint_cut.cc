#include "server/coordinator/checkpoint_cut.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/job_reduction.h"

namespace selari {

absl::Status CheckpointCut::Add(const v1::SaveShardsResponse& response) {
  for (const v1::WorkerClock& clock : response.worker_clocks()) {
    const auto [known, is_new] =
        clocks_.emplace(clock.worker_id(), clock.clock());
    if (!is_new) {
      known->second = std::min(known->second, clock.clock());
    }
  }
  for (const v1::ShardFile& file : response.files()) {
    if (!files_.emplace(file.shard(), file).second) {
      return absl::InternalError(
          absl::StrCat("shard ", file.shard(), " was written twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckpointCut::CheckComplete(const v1::ResolvedJob& job) const {
  const size_t shard_count =
      static_cast<size_t>(job.job().cluster().shard_count());
  if (files_.size() != shard_count) {
    return absl::InternalError(absl::StrCat("servers wrote ", files_.size(),
                                            " of ", shard_count, " shards"));
  }
  return absl::OkStatus();
}

int64_t CheckpointCut::StepByClocks(const v1::ResolvedJob& job,
                                    const Progress& progress) const {
  if (job.total_steps() > 0 && progress.step >= job.total_steps()) {
    return job.total_steps();
  }
  const int32_t workers = job.job().cluster().workers();
  if (static_cast<int32_t>(clocks_.size()) < workers) {
    return progress.step;
  }
  int64_t slowest = clocks_.begin()->second;
  for (const auto& [worker, clock] : clocks_) {
    slowest = std::min(slowest, clock);
  }
  return std::max(slowest * workers, progress.start_step);
}

v1::CheckpointManifest CheckpointCut::MakeManifest(const v1::ResolvedJob& job,
                                                   int64_t step) const {
  v1::CheckpointManifest manifest;
  *manifest.mutable_job() = job;
  manifest.set_step(step);
  for (const auto& [shard, file] : files_) {
    *manifest.add_shards() = file;
  }
  if (!IsSync(job.job())) {
    for (const auto& [worker, clock] : clocks_) {
      v1::WorkerClock* entry = manifest.add_worker_clocks();
      entry->set_worker_id(worker);
      entry->set_clock(clock);
    }
  }
  return manifest;
}

}  // namespace selari
