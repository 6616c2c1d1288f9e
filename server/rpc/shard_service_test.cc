// ShardService and GrpcShardControl against each other, over loopback.

#include "server/rpc/shard_service.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/error_reason.h"
#include "common/notification.h"
#include "gtest/gtest.h"
#include "server/rpc/rpc_server.h"
#include "server/shard_control/grpc_shard_control.h"

namespace selari {
namespace {

// Answers at once, with what shows that the request came through.
class EchoControl : public ShardControl {
 public:
  ~EchoControl() override {
    if (open_save_ != nullptr) {
      open_save_(absl::CancelledError("the server ends"));
    }
  }
  void AssignShards(const v1::AssignShardsRequest& request,
                    Done<v1::AssignShardsResponse> done) override {
    v1::AssignShardsResponse response;
    response.add_shards()->set_shard(request.server_id());
    done(response);
  }
  void PauseShards(const v1::PauseShardsRequest& request,
                   Done<v1::PauseShardsResponse> done) override {
    v1::PauseShardsResponse response;
    response.add_shards()->set_max_version(
        static_cast<int64_t>(request.incarnation()));
    done(response);
  }
  void ResumeShards(const v1::ResumeShardsRequest& /*request*/,
                    Done<v1::ResumeShardsResponse> done) override {
    done(WithReason(absl::FailedPreconditionError("other life"),
                    ErrorReason::kStaleIncarnation));
  }
  void SaveShards(const v1::SaveShardsRequest& /*request*/,
                  Done<v1::SaveShardsResponse> done) override {
    open_save_ = std::move(done);
    save_came.Notify();
  }
  void TrimJournals(const v1::TrimJournalsRequest& /*request*/,
                    Done<v1::TrimJournalsResponse> done) override {
    done(v1::TrimJournalsResponse());
  }
  void GetShardStatus(const v1::GetShardStatusRequest& /*request*/,
                      Done<v1::GetShardStatusResponse> done) override {
    done(v1::GetShardStatusResponse());
  }
  void EndJob(const v1::EndJobRequest& /*request*/,
              Done<v1::EndJobResponse> done) override {
    done(v1::EndJobResponse());
  }

  Notification save_came;

 private:
  Done<v1::SaveShardsResponse> open_save_;
};

class ShardServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = RpcServer::Start({}, {&service_});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = MakeGrpcShardControl(absl::StrCat("127.0.0.1:", server_->port()));
  }

  template <class Request, class Response>
  absl::StatusOr<Response> Call(
      void (ShardControl::*method)(const Request&,
                                   ShardControl::Done<Response>),
      const Request& request) {
    Notification answered;
    absl::StatusOr<Response> result;
    (client_.get()->*method)(request, [&](absl::StatusOr<Response> response) {
      result = std::move(response);
      answered.Notify();
    });
    answered.Wait();
    return result;
  }

  std::unique_ptr<EchoControl> control_ = std::make_unique<EchoControl>();
  ShardService service_{control_.get()};
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<ShardControl> client_;
};

TEST_F(ShardServiceTest, ErrorsKeepCodeAndReason) {
  const auto response =
      Call(&ShardControl::ResumeShards, v1::ResumeShardsRequest());
  EXPECT_EQ(response.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReasonOf(response.status()), ErrorReason::kStaleIncarnation);
}

TEST_F(ShardServiceTest, RequestsAndResponsesComeThrough) {
  v1::AssignShardsRequest assign;
  assign.set_server_id(3);
  EXPECT_EQ(Call(&ShardControl::AssignShards, assign)->shards(0).shard(), 3);
  v1::PauseShardsRequest pause;
  pause.set_incarnation(77);
  EXPECT_EQ(Call(&ShardControl::PauseShards, pause)->shards(0).max_version(),
            77);
  EXPECT_TRUE(Call(&ShardControl::EndJob, v1::EndJobRequest()).ok());
  EXPECT_TRUE(
      Call(&ShardControl::GetShardStatus, v1::GetShardStatusRequest()).ok());
}

TEST_F(ShardServiceTest, ClientThatEndsCancelsItsOpenCalls) {
  absl::StatusOr<v1::SaveShardsResponse> result;
  client_->SaveShards(
      v1::SaveShardsRequest(),
      [&](absl::StatusOr<v1::SaveShardsResponse> r) { result = std::move(r); });
  control_->save_came.Wait();
  client_.reset();
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
  control_.reset();
}

TEST_F(ShardServiceTest, ServerThatEndsAnswersItsOpenCalls) {
  Notification answered;
  absl::StatusOr<v1::SaveShardsResponse> result;
  client_->SaveShards(v1::SaveShardsRequest(),
                      [&](absl::StatusOr<v1::SaveShardsResponse> r) {
                        result = std::move(r);
                        answered.Notify();
                      });
  control_->save_came.Wait();
  control_.reset();
  answered.Wait();
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace selari
