#include "common/job_stopper.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace selari {
namespace {

// One thread waits for two events: the stop, and its own end.
constexpr int64_t kPollMs = 50;

}  // namespace

JobStopper::JobStopper(Options options) : options_(std::move(options)) {
  if (options_.stop != nullptr) {
    thread_ = std::thread([this] { Run(); });
  }
}

JobStopper::~JobStopper() {
  end_.RequestStop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void JobStopper::Run() {
  while (!options_.stop->WaitForMs(kPollMs)) {
    if (end_.stop_requested()) {
      return;
    }
  }
  if (end_.stop_requested()) {
    return;
  }
  options_.log("told to stop: asks the coordinator to save and stop the job");
  const absl::StatusOr<v1::StopJobResponse> response =
      options_.client->StopJob();
  if (!response.ok()) {
    options_.on_failed(absl::Status(
        response.status().code(),
        absl::StrCat("told to stop, but the job could not be stopped: ",
                     response.status().message())));
  }
}

}  // namespace selari
