// CoordinatorService and GrpcCoordinatorClient against each other, over
// loopback, with a real coordinator and servers that answer at once.

#include "server/rpc/coordinator_service.h"

#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/error_reason.h"
#include "common/fault_file_env.h"
#include "common/grpc_channel.h"
#include "common/grpc_coordinator_client.h"
#include "common/grpc_status.h"
#include "common/stop_token.h"
#include "gtest/gtest.h"
#include "server/coordinator/fake_checkpoint_store.h"
#include "server/coordinator/file_metadata_store.h"
#include "server/rpc/rpc_server.h"

namespace selari {
namespace {

// The only server, with the only shard, always at version 7.
class InstantControl : public ShardControl {
 public:
  void AssignShards(const v1::AssignShardsRequest& /*request*/,
                    Done<v1::AssignShardsResponse> done) override {
    done(v1::AssignShardsResponse());
  }
  void PauseShards(const v1::PauseShardsRequest& /*request*/,
                   Done<v1::PauseShardsResponse> done) override {
    v1::PauseShardsResponse response;
    v1::ShardStatus* shard = response.add_shards();
    shard->set_min_version(7);
    shard->set_max_version(7);
    shard->set_state_bytes(4);
    done(response);
  }
  void ResumeShards(const v1::ResumeShardsRequest& /*request*/,
                    Done<v1::ResumeShardsResponse> done) override {
    done(v1::ResumeShardsResponse());
  }
  void SaveShards(const v1::SaveShardsRequest& /*request*/,
                  Done<v1::SaveShardsResponse> done) override {
    v1::SaveShardsResponse response;
    response.add_files()->set_shard(0);
    done(response);
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
};

class CoordinatorServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    metadata_ = *FileMetadataStore::OpenUnlockedForTest(&env_, "/state");
    coordinator_ = *Coordinator::Create(MakeOptions(), MakeEnvironment());
    service_ = std::make_unique<CoordinatorService>(coordinator_.get());
    auto server = RpcServer::Start({}, {service_.get()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    address_ = absl::StrCat("127.0.0.1:", server_->port());
    GrpcCoordinatorClientOptions options;
    options.address = address_;
    client_ = MakeGrpcCoordinatorClient(options);
    ticker_ = std::thread([this] {
      while (!stop_.WaitForMs(1)) {
        service_->Tick();
      }
    });
  }
  void TearDown() override {
    stop_.RequestStop();
    ticker_.join();
    service_->Drain(1000);
    server_->Shutdown(1000);
  }

  static Coordinator::Options MakeOptions() {
    Coordinator::Options options;
    options.job.set_job_id("j");
    v1::Cluster* cluster = options.job.mutable_job()->mutable_cluster();
    cluster->set_servers(1);
    cluster->set_workers(1);
    cluster->set_shard_count(1);
    cluster->set_lease_ms(3'600'000);
    cluster->set_join_timeout_s(3600);
    return options;
  }
  Coordinator::Environment MakeEnvironment() {
    Coordinator::Environment environment;
    environment.clock = &clock_;
    environment.metadata = metadata_.get();
    environment.checkpoints = &store_;
    environment.make_control = [](const v1::ServerEntry&) {
      return std::make_unique<InstantControl>();
    };
    environment.control_executor = std::make_unique<ThreadExecutor>();
    environment.io_executor = std::make_unique<ThreadExecutor>();
    environment.log = [](absl::string_view) {};
    return environment;
  }
  absl::StatusOr<v1::RegisterServerResponse> Join(uint64_t incarnation) {
    v1::RegisterServerRequest request;
    request.set_incarnation(incarnation);
    request.set_address("host:1");
    return client_->RegisterServer(request);
  }

  SystemClock clock_;
  FaultFileEnv env_;
  FakeCheckpointStore store_;
  std::unique_ptr<FileMetadataStore> metadata_;
  std::unique_ptr<Coordinator> coordinator_;
  std::unique_ptr<CoordinatorService> service_;
  std::unique_ptr<RpcServer> server_;
  std::string address_;
  std::unique_ptr<CoordinatorClient> client_;
  StopToken stop_;
  std::thread ticker_;
};

TEST_F(CoordinatorServiceTest, RefusalsKeepCodeAndReason) {
  ASSERT_TRUE(Join(100).ok());
  const auto second = Join(101);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReasonOf(second.status()), ErrorReason::kDuplicateId);
}

TEST_F(CoordinatorServiceTest, UnreachableCoordinatorIsUnavailable) {
  GrpcCoordinatorClientOptions options;
  options.address = "127.0.0.1:1";
  const auto job = MakeGrpcCoordinatorClient(options)->GetJob();
  EXPECT_EQ(job.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CoordinatorServiceTest, WatchFollowsTheJobToItsEnd) {
  auto stub = v1::CoordinatorService::NewStub(
      CreateGrpcChannel(address_, /*credentials=*/nullptr));
  grpc::ClientContext context;
  auto watch = stub->WatchJobStatus(&context, v1::WatchJobStatusRequest());
  v1::WatchJobStatusResponse status;
  ASSERT_TRUE(watch->Read(&status));
  EXPECT_EQ(status.status().state(), v1::JOB_STATE_JOINING);

  ASSERT_TRUE(Join(100).ok());
  while (status.status().state() != v1::JOB_STATE_RUNNING) {
    ASSERT_TRUE(watch->Read(&status));
  }
  const auto stopped = client_->StopJob();
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->path(), "/step-7");
  while (watch->Read(&status)) {
  }
  EXPECT_EQ(status.status().state(), v1::JOB_STATE_STOPPED);
  EXPECT_TRUE(watch->Finish().ok());
}

TEST_F(CoordinatorServiceTest, DrainEndsWatches) {
  auto stub = v1::CoordinatorService::NewStub(
      CreateGrpcChannel(address_, /*credentials=*/nullptr));
  grpc::ClientContext context;
  auto watch = stub->WatchShardMap(&context, v1::WatchShardMapRequest());
  watch->WaitForInitialMetadata();
  service_->Drain(1000);
  v1::WatchShardMapResponse response;
  EXPECT_FALSE(watch->Read(&response));
  EXPECT_EQ(FromGrpcStatus(watch->Finish()).code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(CoordinatorServiceTest, CallsComeThrough) {
  ASSERT_TRUE(Join(100).ok());
  EXPECT_EQ(client_->GetJob()->job().job_id(), "j");
  EXPECT_EQ(client_->GetJobStatus()->members_size(), 2);
  v1::RegisterWorkerRequest worker;
  worker.set_incarnation(200);
  ASSERT_TRUE(client_->RegisterWorker(worker).ok());
  v1::ReportProgressRequest report;
  report.set_incarnation(200);
  EXPECT_TRUE(client_->ReportProgress(report).ok());
  v1::RenewLeaseRequest renew;
  renew.set_kind(v1::MEMBER_KIND_WORKER);
  renew.set_incarnation(200);
  EXPECT_TRUE(client_->RenewLease(renew).ok());
}

}  // namespace
}  // namespace selari
