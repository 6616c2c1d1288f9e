#include "server/rpc/coordinator_service.h"

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/grpc_status.h"

namespace selari {
namespace {

// A callback that answers the call. The reactor lives until Finish.
template <class Response>
Coordinator::Done<Response> AnswerLater(grpc::ServerUnaryReactor* reactor,
                                        Response* response) {
  return [reactor, response](absl::StatusOr<Response> result) {
    const grpc::Status status = ToGrpcStatus(result.status());
    if (result.ok()) {
      *response = *std::move(result);
    }
    reactor->Finish(status);
  };
}

template <class Response>
grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                 absl::StatusOr<Response> result,
                                 Response* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  AnswerLater(reactor, response)(std::move(result));
  return reactor;
}

bool HasEnded(v1::JobState state) {
  return state == v1::JOB_STATE_DONE || state == v1::JOB_STATE_STOPPED ||
         state == v1::JOB_STATE_FAILED;
}

}  // namespace

grpc::ServerUnaryReactor* CoordinatorService::RegisterServer(
    grpc::CallbackServerContext* context,
    const v1::RegisterServerRequest* request,
    v1::RegisterServerResponse* response) {
  return Answer(context, coordinator_.RegisterServer(*request), response);
}

grpc::ServerUnaryReactor* CoordinatorService::RegisterWorker(
    grpc::CallbackServerContext* context,
    const v1::RegisterWorkerRequest* request,
    v1::RegisterWorkerResponse* response) {
  return Answer(context, coordinator_.RegisterWorker(*request), response);
}

grpc::ServerUnaryReactor* CoordinatorService::RenewLease(
    grpc::CallbackServerContext* context, const v1::RenewLeaseRequest* request,
    v1::RenewLeaseResponse* response) {
  return Answer(context, coordinator_.RenewLease(*request), response);
}

grpc::ServerUnaryReactor* CoordinatorService::GetShardMap(
    grpc::CallbackServerContext* context,
    const v1::GetShardMapRequest* /*request*/,
    v1::GetShardMapResponse* response) {
  return Answer(context, coordinator_.GetShardMap(), response);
}

grpc::ServerUnaryReactor* CoordinatorService::GetJob(
    grpc::CallbackServerContext* context, const v1::GetJobRequest* /*request*/,
    v1::GetJobResponse* response) {
  return Answer<v1::GetJobResponse>(context, coordinator_.GetJob(), response);
}

grpc::ServerUnaryReactor* CoordinatorService::GetJobStatus(
    grpc::CallbackServerContext* context,
    const v1::GetJobStatusRequest* /*request*/,
    v1::GetJobStatusResponse* response) {
  *response->mutable_status() = coordinator_.GetJobStatus();
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::ReportProgress(
    grpc::CallbackServerContext* context,
    const v1::ReportProgressRequest* request,
    v1::ReportProgressResponse* response) {
  return Answer(context, coordinator_.ReportProgress(*request), response);
}

grpc::ServerUnaryReactor* CoordinatorService::SaveCheckpoint(
    grpc::CallbackServerContext* context,
    const v1::SaveCheckpointRequest* /*request*/,
    v1::SaveCheckpointResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  coordinator_.SaveCheckpoint(AnswerLater(reactor, response));
  return reactor;
}

grpc::ServerUnaryReactor* CoordinatorService::StopJob(
    grpc::CallbackServerContext* context, const v1::StopJobRequest* /*request*/,
    v1::StopJobResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  coordinator_.StopJob(AnswerLater(reactor, response));
  return reactor;
}

// Watches.

grpc::ServerWriteReactor<v1::WatchJobStatusResponse>*
CoordinatorService::WatchJobStatus(
    grpc::CallbackServerContext* context,
    const v1::WatchJobStatusRequest* /*request*/) {
  return StartWatch<v1::WatchJobStatusResponse>(
      context,
      [this](int64_t seen, v1::WatchJobStatusResponse* response, bool* last) {
        // Counted first: a change in between is sent once more, not lost.
        const int64_t version = coordinator_.change_count();
        if (version != seen) {
          *response->mutable_status() = coordinator_.GetJobStatus();
          *last = HasEnded(response->status().state());
        }
        return version;
      });
}

grpc::ServerWriteReactor<v1::WatchShardMapResponse>*
CoordinatorService::WatchShardMap(grpc::CallbackServerContext* context,
                                  const v1::WatchShardMapRequest* /*request*/) {
  return StartWatch<v1::WatchShardMapResponse>(
      context,
      [this](int64_t seen, v1::WatchShardMapResponse* response, bool* last) {
        *last = HasEnded(coordinator_.state());
        absl::StatusOr<v1::GetShardMapResponse> map =
            coordinator_.GetShardMap();
        if (!map.ok() || map->shard_map().version() == seen) {
          return seen;
        }
        *response->mutable_shard_map() = std::move(*map->mutable_shard_map());
        return response->shard_map().version();
      });
}

template <class Response>
grpc::ServerWriteReactor<Response>* CoordinatorService::StartWatch(
    grpc::CallbackServerContext* context,
    typename WatchReactor<Response>::Source source) {
  auto watch = std::make_shared<WatchReactor<Response>>(
      context, std::move(source), [this](const std::shared_ptr<Watch>& done) {
        {
          MutexLock lock(&mu_);
          watches_.erase(done);
        }
        live_calls_.Remove(done);
      });
  const absl::Status added = live_calls_.Add(watch);
  {
    MutexLock lock(&mu_);
    watches_.insert(watch);
  }
  if (!added.ok()) {
    watch->End(added);
  }
  watch->Start();
  return watch.get();
}

void CoordinatorService::Tick() {
  std::vector<std::shared_ptr<Watch>> watches;
  {
    MutexLock lock(&mu_);
    watches.assign(watches_.begin(), watches_.end());
  }
  for (const std::shared_ptr<Watch>& watch : watches) {
    watch->Poll();
  }
}

}  // namespace selari
