#include "worker/data/prefetcher.h"

#include <utility>

#include "common/check.h"

namespace selari {

Prefetcher::Prefetcher(const Dataset* dataset, const Sampler* sampler,
                       BatchPlan plan, const PrefetcherOptions& options)
    : dataset_(dataset),
      sampler_(sampler),
      plan_(std::move(plan)),
      options_(options),
      thread_([this] { Run(); }) {
  SELARI_CHECK(plan_.first_step >= 0 && plan_.stride >= 1);
  SELARI_CHECK(options_.queued_batches_max >= 1);
}

Prefetcher::~Prefetcher() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

std::unique_ptr<StepBatch> Prefetcher::Next() {
  MutexLock lock(&mu_);
  while (ready_.empty() && !finished_) {
    changed_.Wait(&mu_);
  }
  if (ready_.empty()) {
    return nullptr;
  }
  std::unique_ptr<StepBatch> batch = std::move(ready_.front());
  ready_.pop_front();
  changed_.NotifyAll();
  return batch;
}

void Prefetcher::Recycle(std::unique_ptr<StepBatch> batch) {
  MutexLock lock(&mu_);
  free_.push_back(std::move(batch));
}

std::unique_ptr<StepBatch> Prefetcher::TakeFree() {
  MutexLock lock(&mu_);
  while (ready_.size() >= options_.queued_batches_max && !stopping_) {
    changed_.Wait(&mu_);
  }
  if (stopping_) {
    return nullptr;
  }
  if (free_.empty()) {
    return std::make_unique<StepBatch>();
  }
  std::unique_ptr<StepBatch> batch = std::move(free_.back());
  free_.pop_back();
  return batch;
}

void Prefetcher::Run() {
  for (int64_t step = plan_.first_step; step < plan_.end_step;
       step += plan_.stride) {
    std::unique_ptr<StepBatch> batch = TakeFree();
    if (batch == nullptr) {
      return;
    }
    GatherStep(*dataset_, *sampler_, step, plan_.leaves, batch.get());
    MutexLock lock(&mu_);
    ready_.push_back(std::move(batch));
    changed_.NotifyAll();
  }
  MutexLock lock(&mu_);
  finished_ = true;
  changed_.NotifyAll();
}

}  // namespace selari
