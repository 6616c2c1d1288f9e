// Prefetcher: gathers the batches of the coming steps in the background, in
// the order in which they will be used, so that the step never waits for data.
//
//   Prefetcher prefetcher(&dataset, &sampler, plan, options);
//   while (auto batch = prefetcher.Next()) {
//     ... use *batch ...
//     prefetcher.Recycle(std::move(batch));
//   }
//
// Owns one thread, which the destructor stops and joins, whatever is queued.
// Next and Recycle are for one caller's thread. What a batch holds depends on
// the plan alone, never on timing. When a worker's leaves change, make a new
// Prefetcher from the step on where they do.

#ifndef SELARI_WORKER_DATA_PREFETCHER_H_
#define SELARI_WORKER_DATA_PREFETCHER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "worker/data/batch.h"
#include "worker/data/dataset.h"
#include "worker/data/sampler.h"

namespace selari {

// Which batches, in which order: steps first_step, first_step + stride, ...
// below end_step, each with the same leaves.
struct BatchPlan {
  // >= 0.
  int64_t first_step = 0;
  int64_t end_step = 0;
  // >= 1: 1 in SYNC, the number of workers in BOUNDED and ASYNC.
  int64_t stride = 1;
  // Ascending, each in [0, leaf_count).
  std::vector<int64_t> leaves;
};

struct PrefetcherOptions {
  // Batches gathered ahead of the one in use, >= 1; bounds the memory.
  std::size_t queued_batches_max = 2;
};

class Prefetcher {
 public:
  // `dataset` and `sampler` are borrowed and must outlive this.
  Prefetcher(const Dataset* dataset, const Sampler* sampler, BatchPlan plan,
             const PrefetcherOptions& options);
  // Blocks for at most the gathering of one batch.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // The next batch of the plan; null after the last. Blocks until it is
  // gathered.
  std::unique_ptr<StepBatch> Next();

  // Gives a batch's memory back for a later one.
  void Recycle(std::unique_ptr<StepBatch> batch);

 private:
  void Run();
  // A batch to fill, once the queue has room; null when stopping.
  std::unique_ptr<StepBatch> TakeFree();

  const Dataset* const dataset_;
  const Sampler* const sampler_;
  const BatchPlan plan_;
  const PrefetcherOptions options_;

  Mutex mu_;
  CondVar changed_;
  std::deque<std::unique_ptr<StepBatch>> ready_ ABSL_GUARDED_BY(mu_);
  std::vector<std::unique_ptr<StepBatch>> free_ ABSL_GUARDED_BY(mu_);
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  // Last, so that it starts when everything above exists.
  std::thread thread_;
};

}  // namespace selari

#endif  // SELARI_WORKER_DATA_PREFETCHER_H_
