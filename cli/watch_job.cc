#include "cli/watch_job.h"

#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/grpc_channel.h"
#include "common/grpc_status.h"
#include "common/retry.h"
#include "common/status.h"
#include "grpcpp/client_context.h"
#include "selari/v1/coordinator_service.grpc.pb.h"

namespace selari {
namespace {

// One thread waits for two events: the stop, and the end of the stream.
constexpr int64_t kPollMs = 50;

// One stream, to its end.
absl::Status Follow(
    const std::string& address, const StopToken& stop,
    const std::function<bool(const v1::JobStatus&)>& on_status) {
  const std::unique_ptr<v1::CoordinatorService::Stub> stub =
      v1::CoordinatorService::NewStub(
          CreateGrpcChannel(address, /*credentials=*/nullptr));
  grpc::ClientContext context;
  const auto reader =
      stub->WatchJobStatus(&context, v1::WatchJobStatusRequest());
  StopToken ended;
  std::thread canceller([&] {
    while (!ended.WaitForMs(kPollMs)) {
      if (stop.stop_requested()) {
        context.TryCancel();
        return;
      }
    }
  });
  v1::WatchJobStatusResponse response;
  while (reader->Read(&response)) {
    if (!on_status(response.status())) {
      context.TryCancel();
      break;
    }
  }
  absl::Status status = FromGrpcStatus(reader->Finish());
  ended.RequestStop();
  canceller.join();
  return status;
}

}  // namespace

absl::Status WatchJob(
    const WatchOptions& options, const StopToken& stop,
    const std::function<bool(const v1::JobStatus&)>& on_status) {
  const SystemClock clock;
  RetryOptions retry;
  retry.peer = absl::StrCat("the coordinator at ", options.coordinator);
  retry.timeout_ms = options.timeout_ms;
  retry.clock = &clock;
  retry.wait_ms = [&stop](int64_t ms) { return stop.WaitForMs(ms); };
  retry.log = options.log;
  RetryState state(retry);
  bool came = false;
  bool enough = false;
  while (true) {
    const absl::Status status =
        Follow(options.coordinator, stop, [&](const v1::JobStatus& job_status) {
          came = true;
          enough = !on_status(job_status);
          return !enough;
        });
    if (enough || stop.stop_requested() || status.ok()) {
      return absl::OkStatus();
    }
    // One that went away took its job along.
    if (came) {
      return Annotate(status, retry.peer);
    }
    if (!state.ShouldRetry(status)) {
      return stop.stop_requested() ? absl::OkStatus() : state.result();
    }
  }
}

}  // namespace selari
