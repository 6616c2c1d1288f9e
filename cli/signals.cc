#include "cli/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <utility>

namespace selari {
namespace {

// SIGUSR1 wakes the thread when the object ends.
sigset_t Watched() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1);
  return set;
}

}  // namespace

Signals::Signals(std::function<void(int)> on_first)
    : on_first_(std::move(on_first)) {
  // A peer that went away is an error code of write, not the end of us.
  signal(SIGPIPE, SIG_IGN);
  const sigset_t watched = Watched();
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);
  thread_ = std::thread([this] { Run(); });
}

Signals::~Signals() {
  ending_.store(true);
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void Signals::Run() {
  const sigset_t watched = Watched();
  while (true) {
    int number = 0;
    if (sigwait(&watched, &number) != 0) {
      continue;
    }
    if (number == SIGUSR1) {
      if (ending_.load()) {
        return;
      }
      continue;
    }
    if (received_.load() != 0) {
      _exit(128 + number);
    }
    received_.store(number);
    if (on_first_) {
      on_first_(number);
    }
    stop_.RequestStop();
  }
}

}  // namespace selari
