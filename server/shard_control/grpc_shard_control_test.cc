#include "server/shard_control/grpc_shard_control.h"

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "selari/v1/shard_service.grpc.pb.h"

namespace selari {
namespace {

class AnsweringService final : public v1::ShardService::Service {
 public:
  grpc::Status GetShardStatus(
      grpc::ServerContext* /*context*/,
      const v1::GetShardStatusRequest* /*request*/,
      v1::GetShardStatusResponse* /*response*/) override {
    return grpc::Status::OK;
  }
};

class GrpcShardControlTest : public testing::Test {
 protected:
  void SetUp() override {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }

  AnsweringService service_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// Whoever drops a channel last must not be a thread of gRPC's, and the call
// holds it: so the control must outlive what its reaction holds. Here that ends
// late.
TEST_F(GrpcShardControlTest, OutlivesWhatItsReactionsHold) {
  Mutex mu;
  CondVar changed;
  bool answered = false;
  bool control_gone = false;
  bool too_late = false;
  bool ended = false;
  const auto end_late = [&](int* held) {
    delete held;
    MutexLock lock(&mu);
    if (!control_gone) {
      changed.WaitFor(&mu, std::chrono::milliseconds(100));
    }
    too_late = control_gone;
    ended = true;
    changed.NotifyAll();
  };
  auto control = MakeGrpcShardControl(address_);
  {
    const std::shared_ptr<int> held(new int(0), end_late);
    control->GetShardStatus(
        v1::GetShardStatusRequest(),
        [&, held](const absl::StatusOr<v1::GetShardStatusResponse>& response) {
          EXPECT_TRUE(response.ok()) << response.status();
          MutexLock lock(&mu);
          answered = true;
          changed.NotifyAll();
        });
  }
  {
    MutexLock lock(&mu);
    while (!answered) {
      changed.Wait(&mu);
    }
  }

  control.reset();

  MutexLock lock(&mu);
  control_gone = true;
  changed.NotifyAll();
  while (!ended) {
    changed.Wait(&mu);
  }
  EXPECT_FALSE(too_late);
}

TEST_F(GrpcShardControlTest, EndsWhatIsUnderWay) {
  auto control = MakeGrpcShardControl("127.0.0.1:1");
  Mutex mu;
  absl::Status status;
  control->GetShardStatus(
      v1::GetShardStatusRequest(),
      [&](const absl::StatusOr<v1::GetShardStatusResponse>& response) {
        MutexLock lock(&mu);
        status = response.status();
      });

  control.reset();

  MutexLock lock(&mu);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace selari
