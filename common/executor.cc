#include "common/executor.h"

#include <utility>

namespace selari {

ThreadExecutor::ThreadExecutor() : thread_([this] { Run(); }) {}

ThreadExecutor::~ThreadExecutor() {
  {
    MutexLock lock(&mu_);
    ending_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void ThreadExecutor::Post(std::function<void()> closure) {
  MutexLock lock(&mu_);
  closures_.push_back(std::move(closure));
  changed_.NotifyOne();
}

void ThreadExecutor::Run() {
  while (true) {
    std::function<void()> closure;
    {
      MutexLock lock(&mu_);
      while (closures_.empty() && !ending_) {
        changed_.Wait(&mu_);
      }
      if (closures_.empty()) {
        return;
      }
      closure = std::move(closures_.front());
      closures_.pop_front();
    }
    closure();
  }
}

}  // namespace selari
