#include "server/shard_control/write_shard_files.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/status.h"
#include "server/checkpoint/shard_file.h"

namespace selari {
namespace {

// A thread more for each so many files. The usual 16 shards stay with one
// thread, which leaves the cores to training.
constexpr std::size_t kFilesPerThread = 64;
// A disk makes syncs that wait together durable together; more threads gain
// little.
constexpr std::size_t kThreadsMax = 8;

}  // namespace

absl::StatusOr<std::vector<v1::ShardFile>> WriteShardFiles(
    FileEnv& env, absl::string_view dir, const v1::ResolvedJob& job,
    absl::Span<const ShardSnapshot> snapshots) {
  // Each element is written by the thread that took its index.
  std::vector<v1::ShardFile> files(snapshots.size());
  std::atomic<std::size_t> next{0};
  struct {
    Mutex mu;
    absl::Status status ABSL_GUARDED_BY(mu);
  } first_error;
  const auto work = [&] {
    for (std::size_t i = next++; i < snapshots.size(); i = next++) {
      absl::StatusOr<v1::ShardFile> file =
          WriteShardFile(env, dir, job, snapshots[i]);
      if (!file.ok()) {
        next = snapshots.size();
        MutexLock lock(&first_error.mu);
        first_error.status.Update(file.status());
        return;
      }
      files[i] = *std::move(file);
      files[i].set_journal_sequence(snapshots[i].log_sequence);
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t thread_count =
      std::min(kThreadsMax, snapshots.size() / kFilesPerThread);
  for (std::size_t i = 1; i < thread_count; ++i) {
    helpers.emplace_back(work);
  }
  work();
  for (std::thread& helper : helpers) {
    helper.join();
  }
  MutexLock lock(&first_error.mu);
  SELARI_RETURN_IF_ERROR(first_error.status);
  return files;
}

}  // namespace selari
