// ThreadPool: a fixed number of threads that share the parts of one
// computation. Which thread takes which part is left to chance, so a part must
// write only what no other part touches; then the result cannot depend on the
// number of threads.
//
// One caller at a time; the caller's thread works too. The destructor joins.

#ifndef SELARI_WORKER_MODEL_THREAD_POOL_H_
#define SELARI_WORKER_MODEL_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "common/mutex.h"

namespace selari {

class ThreadPool {
 public:
  // `thread` is in [0, thread_count()): the index of scratch memory that this
  // call has to itself.
  using Part = absl::FunctionRef<void(int64_t part, int thread)>;
  // Rows [begin, end).
  using Rows = absl::FunctionRef<void(int64_t begin, int64_t end, int thread)>;

  // `thread_count` >= 1, the caller's thread included: 1 starts none.
  explicit ThreadPool(int thread_count);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int thread_count() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls `run` for each part in [0, part_count), in any order, and returns
  // when all are done. `run` must not call the pool.
  void Run(int64_t part_count, Part run);

  // Cuts [0, rows) into about one range per thread and runs them.
  void RunRows(int64_t rows, Rows run);

 private:
  // One Run: lives on the caller's stack until every helper has left it.
  struct Work {
    Part run;
    int64_t part_count;
    std::atomic<int64_t> next_part;
  };

  void HelperLoop(int thread);
  static void TakeParts(Work* work, int thread);

  Mutex mu_;
  CondVar work_changed_;
  CondVar helper_left_;
  // The current work; null between two.
  Work* work_ ABSL_GUARDED_BY(mu_) = nullptr;
  // Counts the works, so that a helper takes each once.
  int64_t generation_ ABSL_GUARDED_BY(mu_) = 0;
  // Helpers inside the current work.
  int inside_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  std::vector<std::thread> threads_;
};

}  // namespace selari

#endif  // SELARI_WORKER_MODEL_THREAD_POOL_H_
