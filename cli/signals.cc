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
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGUSR1);
  return set;
}

// Nobody is left to be told if it fails.
void Write(int file, const char* text, size_t size) {
  const ssize_t written = write(file, text, size);
  static_cast<void>(written);
}

// Only with calls that need no lock: another thread may hold one for ever.
[[noreturn]] void EndAtOnce(int number) {
  constexpr char kSentence[] =
      "selari: ended at once by a second signal, without a checkpoint\n";
  // A terminal's line may be open: with a run's progress, or with the ^C that
  // the terminal shows.
  if (isatty(STDERR_FILENO) != 0) {
    Write(STDERR_FILENO, "\n", 1);
  } else if (isatty(STDOUT_FILENO) != 0) {
    Write(STDOUT_FILENO, "\n", 1);
  }
  Write(STDERR_FILENO, kSentence, sizeof(kSentence) - 1);
  _exit(128 + number);
}

}  // namespace

Signals::Signals(std::function<void(int)> on_first, const Clock* clock)
    : on_first_(std::move(on_first)), clock_(clock) {
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
  int64_t first_ms = 0;
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
    const int64_t now_ms = clock_->NowMs();
    if (received_.load() != 0) {
      // A terminal that closes may say so several times; that is no wish for
      // haste.
      if (number == SIGHUP || now_ms - first_ms < kSameWishMs) {
        continue;
      }
      EndAtOnce(number);
    }
    first_ms = now_ms;
    received_.store(number);
    if (on_first_) {
      on_first_(number);
    }
    stop_.RequestStop();
  }
}

}  // namespace selari
