// CaptureGatherer: gathers the snapshots of several shards into one result.
//
// Thread safety: Add from any thread.

#ifndef SELARI_SERVER_SHARD_CAPTURE_GATHERER_H_
#define SELARI_SERVER_SHARD_CAPTURE_GATHERER_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "common/shard_snapshot.h"

namespace selari {

// Calls back once: with all snapshots, ordered by shard, or the first error.
class CaptureGatherer {
 public:
  using Callback =
      std::function<void(absl::StatusOr<std::vector<ShardSnapshot>>)>;

  CaptureGatherer(size_t count, Callback done)
      : missing_(count), done_(std::move(done)) {}
  // Reached early when a host ends before a shard has even begun.
  ~CaptureGatherer() { Add(absl::CancelledError("the host was closed")); }

  void Add(absl::StatusOr<ShardSnapshot> snapshot) {
    absl::StatusOr<std::vector<ShardSnapshot>> result;
    {
      MutexLock lock(&mu_);
      if (missing_ == 0) {
        return;
      }
      if (snapshot.ok()) {
        snapshots_.push_back(*std::move(snapshot));
        if (--missing_ > 0) {
          return;
        }
        std::sort(snapshots_.begin(), snapshots_.end(),
                  [](const ShardSnapshot& a, const ShardSnapshot& b) {
                    return a.shard < b.shard;
                  });
        result = std::move(snapshots_);
      } else {
        missing_ = 0;
        result = snapshot.status();
      }
    }
    done_(std::move(result));
  }

 private:
  Mutex mu_;
  size_t missing_ ABSL_GUARDED_BY(mu_);
  std::vector<ShardSnapshot> snapshots_ ABSL_GUARDED_BY(mu_);
  const Callback done_;
};

}  // namespace selari

#endif  // SELARI_SERVER_SHARD_CAPTURE_GATHERER_H_
