// JobStopper: what a member does when it is told to stop (SIGTERM): as the job
// cannot go on without it, it asks the coordinator to stop the job with a
// checkpoint, so that nothing is lost; the end then comes to it as to every
// other member.
//
// Owns a thread. Thread safety: the constructor and destructor from one
// thread; the callback comes from the stopper's.

#ifndef SELARI_COMMON_JOB_STOPPER_H_
#define SELARI_COMMON_JOB_STOPPER_H_

#include <functional>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/coordinator_client.h"
#include "common/stop_token.h"

namespace selari {

class JobStopper {
 public:
  struct Options {
    CoordinatorClient* client = nullptr;  // borrowed
    // What tells it to stop; null: nothing does. Borrowed.
    const StopToken* stop = nullptr;
    std::function<void(absl::string_view)> log;
    // The coordinator did not stop the job: the member must end by itself.
    std::function<void(const absl::Status&)> on_failed;
  };

  explicit JobStopper(Options options);
  // Waits for a StopJob that is under way, at most its deadline.
  ~JobStopper();

 private:
  void Run();

  const Options options_;
  StopToken end_;
  std::thread thread_;
};

}  // namespace selari

#endif  // SELARI_COMMON_JOB_STOPPER_H_
