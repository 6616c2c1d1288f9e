#include "worker/model/thread_pool.h"

#include <algorithm>

#include "common/check.h"

namespace selari {

ThreadPool::ThreadPool(int thread_count) {
  SELARI_CHECK(thread_count >= 1);
  for (int thread = 1; thread < thread_count; ++thread) {
    threads_.emplace_back([this, thread] { HelperLoop(thread); });
  }
}

ThreadPool::~ThreadPool() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
    work_changed_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::Run(int64_t part_count, Part run) {
  Work work{run, part_count, {0}};
  if (threads_.empty() || part_count <= 1) {
    TakeParts(&work, 0);
    return;
  }
  {
    MutexLock lock(&mu_);
    work_ = &work;
    ++generation_;
    work_changed_.NotifyAll();
  }
  TakeParts(&work, 0);
  MutexLock lock(&mu_);
  // Helpers that have not woken up yet find nothing and are not waited for.
  work_ = nullptr;
  while (inside_ > 0) {
    helper_left_.Wait(&mu_);
  }
}

void ThreadPool::RunRows(int64_t rows, Rows run) {
  const int64_t parts = std::min<int64_t>(thread_count(), rows);
  Run(parts, [&](int64_t part, int thread) {
    run(part * rows / parts, (part + 1) * rows / parts, thread);
  });
}

void ThreadPool::TakeParts(Work* work, int thread) {
  while (true) {
    const int64_t part = work->next_part.fetch_add(1);
    if (part >= work->part_count) {
      return;
    }
    work->run(part, thread);
  }
}

void ThreadPool::HelperLoop(int thread) {
  int64_t seen = 0;
  MutexLock lock(&mu_);
  while (true) {
    while (!stopping_ && (work_ == nullptr || generation_ == seen)) {
      work_changed_.Wait(&mu_);
    }
    if (stopping_) {
      return;
    }
    seen = generation_;
    Work* const work = work_;
    ++inside_;
    mu_.Unlock();
    TakeParts(work, thread);
    mu_.Lock();
    --inside_;
    helper_left_.NotifyAll();
  }
}

}  // namespace selari
