#include "server/shard_control/grpc_shard_control.h"

#include <chrono>
#include <cstdint>
#include <set>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "common/check.h"
#include "common/grpc_channel.h"
#include "common/grpc_status.h"
#include "common/mutex.h"
#include "grpcpp/client_context.h"
#include "selari/v1/shard_service.grpc.pb.h"

namespace selari {
namespace {

constexpr std::chrono::seconds kShortDeadline{10};
constexpr std::chrono::hours kLongDeadline{1};

class GrpcShardControl : public ShardControl {
 public:
  explicit GrpcShardControl(const std::string& address)
      : stub_(v1::ShardService::NewStub(
            CreateGrpcChannel(address, /*credentials=*/nullptr))) {}

  ~GrpcShardControl() override {
    MutexLock lock(&mu_);
    ending_ = true;
    for (grpc::ClientContext* context : open_) {
      context->TryCancel();
    }
    while (!open_.empty() || releasing_ > 0) {
      ended_.Wait(&mu_);
    }
  }

  void AssignShards(const v1::AssignShardsRequest& request,
                    Done<v1::AssignShardsResponse> done) override {
    Start(request, std::move(done), kLongDeadline,
          [this](auto* context, auto* in, auto* out, auto on_end) {
            stub_->async()->AssignShards(context, in, out, on_end);
          });
  }
  void PauseShards(const v1::PauseShardsRequest& request,
                   Done<v1::PauseShardsResponse> done) override {
    Start(request, std::move(done), kShortDeadline,
          [this](auto* context, auto* in, auto* out, auto on_end) {
            stub_->async()->PauseShards(context, in, out, on_end);
          });
  }
  void ResumeShards(const v1::ResumeShardsRequest& request,
                    Done<v1::ResumeShardsResponse> done) override {
    Start(request, std::move(done), kShortDeadline,
          [this](auto* context, auto* in, auto* out, auto on_end) {
            stub_->async()->ResumeShards(context, in, out, on_end);
          });
  }
  void SaveShards(const v1::SaveShardsRequest& request,
                  Done<v1::SaveShardsResponse> done) override {
    Start(request, std::move(done), kLongDeadline,
          [this](auto* context, auto* in, auto* out, auto on_end) {
            stub_->async()->SaveShards(context, in, out, on_end);
          });
  }
  void TrimJournals(const v1::TrimJournalsRequest& request,
                    Done<v1::TrimJournalsResponse> done) override {
    Start(request, std::move(done), kShortDeadline,
          [this](auto* context, auto* in, auto* out, auto on_end) {
            stub_->async()->TrimJournals(context, in, out, on_end);
          });
  }
  void GetShardStatus(const v1::GetShardStatusRequest& request,
                      Done<v1::GetShardStatusResponse> done) override {
    Start(request, std::move(done), kShortDeadline,
          [this](auto* context, auto* in, auto* out, auto on_end) {
            stub_->async()->GetShardStatus(context, in, out, on_end);
          });
  }
  void EndJob(const v1::EndJobRequest& request,
              Done<v1::EndJobResponse> done) override {
    Start(request, std::move(done), kShortDeadline,
          [this](auto* context, auto* in, auto* out, auto on_end) {
            stub_->async()->EndJob(context, in, out, on_end);
          });
  }

 private:
  template <class Request, class Response>
  struct Call {
    grpc::ClientContext context;
    Request request;
    Response response;
    Done<Response> done;
  };

  template <class Request, class Response, class Deadline, class Method>
  void Start(const Request& request, Done<Response> done, Deadline deadline,
             const Method& method) {
    // The reaction's alone once the call is under way.
    auto call = std::make_shared<Call<Request, Response>>();
    call->request = request;
    call->done = std::move(done);
    call->context.set_wait_for_ready(true);
    call->context.set_deadline(std::chrono::system_clock::now() + deadline);
    {
      MutexLock lock(&mu_);
      SELARI_CHECK(!ending_);
      open_.insert(&call->context);
    }
    auto* const context = &call->context;
    auto* const in = &call->request;
    auto* const out = &call->response;
    method(context, in, out,
           [this, call = std::move(call)](const grpc::Status& status) mutable {
             if (status.ok()) {
               call->done(std::move(call->response));
             } else {
               call->done(FromGrpcStatus(status));
             }
             Release(std::move(call));
           });
  }

  // The call holds the channel, and whoever drops the channel last joins
  // gRPC's callback threads: on one of those it would join itself (gRPC 1.51
  // then aborts with "prior > 0"). So the destructor, which drops it, waits
  // until the call has let go.
  template <class SomeCall>
  void Release(std::shared_ptr<SomeCall> call) {
    {
      MutexLock lock(&mu_);
      open_.erase(&call->context);
      ++releasing_;
    }
    call.reset();
    MutexLock lock(&mu_);
    --releasing_;
    ended_.NotifyAll();
  }

  const std::unique_ptr<v1::ShardService::Stub> stub_;

  Mutex mu_;
  CondVar ended_;
  bool ending_ ABSL_GUARDED_BY(mu_) = false;
  std::set<grpc::ClientContext*> open_ ABSL_GUARDED_BY(mu_);
  int releasing_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

std::unique_ptr<ShardControl> MakeGrpcShardControl(const std::string& address) {
  return std::make_unique<GrpcShardControl>(address);
}

}  // namespace selari
