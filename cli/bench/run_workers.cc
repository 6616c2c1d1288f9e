#include "cli/bench/run_workers.h"

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "cli/bench/step_barrier.h"
#include "common/mutex.h"

namespace selari {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

class FirstError {
 public:
  // True for the first.
  bool Set(const absl::Status& status) {
    MutexLock lock(&mu_);
    if (!status_.ok()) {
      return false;
    }
    status_ = status;
    return true;
  }
  absl::Status Get() {
    MutexLock lock(&mu_);
    return status_;
  }

 private:
  Mutex mu_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<double> RunWorkers(
    int32_t workers, const std::function<absl::Status(int32_t)>& work,
    const std::function<void()>& on_error) {
  FirstError error;
  const auto run = [&](int32_t worker) {
    const absl::Status status = work(worker);
    if (!status.ok() && error.Set(status) && on_error != nullptr) {
      on_error();
    }
  };
  if (workers == 1) {
    const Clock::time_point begin = Clock::now();
    run(0);
    const double seconds = SecondsSince(begin);
    return error.Get().ok() ? absl::StatusOr<double>(seconds) : error.Get();
  }
  // The calling thread gives the start, so that no thread's birth is counted.
  StepBarrier start(workers + 1);
  std::vector<std::thread> threads;
  for (int32_t worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      start.Arrive();
      run(worker);
    });
  }
  start.Arrive();
  const Clock::time_point begin = Clock::now();
  for (std::thread& thread : threads) {
    thread.join();
  }
  const double seconds = SecondsSince(begin);
  return error.Get().ok() ? absl::StatusOr<double>(seconds) : error.Get();
}

}  // namespace selari
