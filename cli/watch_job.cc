#include "cli/watch_job.h"

#include <memory>
#include <thread>

#include "common/grpc_channel.h"
#include "common/grpc_status.h"
#include "grpcpp/client_context.h"
#include "selari/v1/coordinator_service.grpc.pb.h"

namespace selari {
namespace {

// One thread waits for two events: the stop, and the end of the stream.
constexpr int64_t kPollMs = 50;

}  // namespace

absl::Status WatchJob(
    const std::string& address, const StopToken& stop,
    const std::function<void(const v1::JobStatus&)>& on_status) {
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
    on_status(response.status());
  }
  const absl::Status status = FromGrpcStatus(reader->Finish());
  ended.RequestStop();
  canceller.join();
  return stop.stop_requested() ? absl::OkStatus() : status;
}

}  // namespace selari
