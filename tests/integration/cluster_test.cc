// Whole jobs in this process: centralised, and coordinator, servers and
// workers in threads that talk gRPC over loopback. They must end with the same
// bits.

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/centralised.h"
#include "common/file_env.h"
#include "common/grpc_coordinator_client.h"
#include "common/job_config.h"
#include "common/posix_file_env.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator_process.h"
#include "server/server_process.h"
#include "worker/client/grpc_transport.h"
#include "worker/model/model_plan.h"
#include "worker/worker.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

constexpr int kRows = 60;

// Three features, the label says whether their sum is positive.
std::string SmallCsv() {
  std::string csv = "a,b,c,label\n";
  for (int row = 0; row < kRows; ++row) {
    float x[3];
    FillNormal(MakeRandomKey(1, RandomStream::kTest, row), 0, 0.0f, 1.0f, x);
    absl::StrAppend(&csv, x[0], ",", x[1], ",", x[2], ",",
                    x[0] + x[1] + x[2] > 0 ? 1 : 0, "\n");
  }
  return csv;
}

struct Shape {
  int32_t servers = 0;
  int32_t workers = 1;
};

class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = absl::StrCat(
        ::testing::TempDir(), "/",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    ASSERT_TRUE(env_.CreateDirs(dir_).ok());
    ASSERT_TRUE(
        WriteFileAtomically(env_, JoinPath(dir_, "train.csv"), SmallCsv())
            .ok());
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
      seed: 5
      data {
        train { csv { path: "train.csv" label_column: "label" } }
        test { csv { path: "train.csv" label_column: "label" } }
      }
      model {
        layers { dense { units: 8 } }
        layers { relu {} }
        layers { dropout { rate: 0.2 } }
        layers { dense { units: 2 } }
        loss: LOSS_SOFTMAX_CROSS_ENTROPY
      }
      optimizer { adam {} learning_rate: 0.05 clip_global_norm: 1 }
      training { batch_size: 14 epochs: 6 log_every_steps: 4 leaf_count: 5 }
      cluster { shard_count: 4 worker_threads: 1 server_threads: 1
                instruction_set: INSTRUCTION_SET_LEVEL2 })",
                                                              &job_));
  }

  v1::ResolvedJob Resolve(const Shape& shape) {
    v1::ResolvedJob resolved;
    *resolved.mutable_job() = job_;
    FillJobDefaults(resolved.mutable_job());
    resolved.mutable_job()->mutable_cluster()->set_servers(shape.servers);
    resolved.mutable_job()->mutable_cluster()->set_workers(shape.workers);
    resolved.set_job_id("0123456789abcdef");
    resolved.add_feature_shape(3);
    resolved.set_class_count(2);
    resolved.set_train_sample_count(kRows);
    resolved.set_total_steps(TotalSteps(resolved.job(), kRows));
    const auto plan = PlanModel(resolved.job().model(), {3}, 2);
    EXPECT_TRUE(plan.ok()) << plan.status();
    for (const v1::TensorSpec& tensor : TensorSpecs(*plan)) {
      *resolved.add_tensors() = tensor;
    }
    return resolved;
  }

  std::string NewOutputDir() {
    return absl::StrCat(dir_, "/out", ++output_count_);
  }

  // Runs to the end, or stops after about `stop_after` steps.
  absl::StatusOr<v1::JobStatus> RunCentralised(const std::string& resume) {
    CentralisedOptions options;
    options.job = Resolve({});
    options.base_dir = dir_;
    options.output_dir = NewOutputDir();
    options.resume_checkpoint = resume;
    options.log = [](absl::string_view) {};
    auto job = CentralisedJob::Start(options);
    if (!job.ok()) {
      return job.status();
    }
    const absl::Status status = (*job)->Wait(/*stop=*/nullptr);
    if (!status.ok()) {
      return status;
    }
    return (*job)->coordinator()->GetJobStatus();
  }

  absl::StatusOr<v1::JobStatus> RunCluster(const Shape& shape,
                                           const std::string& resume) {
    CoordinatorProcessOptions options;
    options.job = Resolve(shape);
    options.output_dir = NewOutputDir();
    options.resume_checkpoint = resume;
    // Members of a job that is stopped at once hear of it however slowly they
    // start.
    options.late_member_timeout_ms = 60'000;
    options.log = [](absl::string_view) {};
    auto process = CoordinatorProcess::Start(options);
    if (!process.ok()) {
      return process.status();
    }
    std::vector<std::thread> members;
    for (int32_t id = 0; id < shape.servers; ++id) {
      members.emplace_back([&, id] { RunOneServer(id, **process); });
    }
    for (int32_t id = 0; id < shape.workers; ++id) {
      members.emplace_back([&, id] { RunOneWorker(id, **process); });
    }
    const absl::Status status = (*process)->Wait(&stop_);
    for (std::thread& member : members) {
      member.join();
    }
    if (!status.ok()) {
      return status;
    }
    return (*process)->coordinator()->GetJobStatus();
  }

  void RunOneServer(int32_t id, const CoordinatorProcess& coordinator) {
    ServerOptions options;
    options.coordinator_address = coordinator.address();
    options.server_id = id;
    options.log = [](absl::string_view) {};
    const absl::Status status = RunServer(options);
    EXPECT_EQ(status.ok(), members_end_well_)
        << "server " << id << ": " << status;
  }

  void RunOneWorker(int32_t id, const CoordinatorProcess& coordinator) {
    GrpcCoordinatorClientOptions client_options;
    client_options.address = coordinator.address();
    const auto client = MakeGrpcCoordinatorClient(client_options);
    WorkerOptions options;
    options.coordinator = client.get();
    options.make_transport = [](const v1::ResolvedJob& job,
                                const v1::ShardMap& map,
                                const WorkerIdentity& worker) {
      return MakeGrpcTransport(job, map, worker);
    };
    options.base_dir = worker_base_dir_.empty() ? dir_ : worker_base_dir_;
    options.worker_id = id;
    options.log = [](absl::string_view) {};
    const absl::StatusOr<WorkerResult> result = RunWorker(options);
    EXPECT_EQ(result.ok(), members_end_well_)
        << "worker " << id << ": " << result.status();
  }

  PosixFileEnv env_;
  std::string dir_;
  std::string worker_base_dir_;
  bool members_end_well_ = true;
  int output_count_ = 0;
  StopToken stop_;
  v1::Job job_;
};

TEST_F(ClusterTest, EveryShapeEndsWithTheSameBits) {
  const auto centralised = RunCentralised("");
  ASSERT_TRUE(centralised.ok()) << centralised.status();
  EXPECT_EQ(centralised->state(), v1::JOB_STATE_DONE);
  EXPECT_EQ(centralised->step(), centralised->total_steps());
  EXPECT_EQ(centralised->checkpoint_digest().size(), 64u);
  EXPECT_GT(centralised->metrics_size(), 0);
  EXPECT_EQ(centralised->evaluations_size(), 1);
  for (const Shape& shape : {Shape{1, 1}, Shape{2, 2}, Shape{3, 5}}) {
    const auto cluster = RunCluster(shape, "");
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    EXPECT_EQ(cluster->checkpoint_digest(), centralised->checkpoint_digest())
        << shape.servers << " servers, " << shape.workers << " workers";
    EXPECT_EQ(cluster->metrics_size(), centralised->metrics_size());
  }
}

TEST_F(ClusterTest, AnotherSeedOrLeafCountEndsWithOtherBits) {
  const auto first = RunCentralised("");
  ASSERT_TRUE(first.ok()) << first.status();
  job_.set_seed(6);
  const auto other_seed = RunCentralised("");
  job_.set_seed(5);
  job_.mutable_training()->set_leaf_count(4);
  const auto other_leaves = RunCentralised("");
  ASSERT_TRUE(other_seed.ok() && other_leaves.ok());
  EXPECT_NE(other_seed->checkpoint_digest(), first->checkpoint_digest());
  EXPECT_NE(other_leaves->checkpoint_digest(), first->checkpoint_digest());
}

TEST_F(ClusterTest, ResumedOnAnotherShapeEndsWithTheSameBits) {
  const auto whole = RunCentralised("");
  ASSERT_TRUE(whole.ok()) << whole.status();
  // In mid-epoch: an epoch has 5 steps.
  job_.mutable_checkpointing()->set_every_steps(7);
  job_.mutable_checkpointing()->set_keep(100);
  const auto first = RunCluster({2, 2}, "");
  ASSERT_TRUE(first.ok()) << first.status();
  const std::string checkpoint =
      JoinPath(DirName(first->checkpoint()), "step-000000007");
  ASSERT_TRUE(*env_.Exists(checkpoint)) << checkpoint;
  for (const Shape& shape : {Shape{3, 1}, Shape{1, 3}}) {
    const auto resumed = RunCluster(shape, checkpoint);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->checkpoint_digest(), whole->checkpoint_digest());
  }
  const auto centralised = RunCentralised(checkpoint);
  ASSERT_TRUE(centralised.ok()) << centralised.status();
  EXPECT_EQ(centralised->checkpoint_digest(), whole->checkpoint_digest());
}

TEST_F(ClusterTest, StoppedAtOnceEndsWell) {
  stop_.RequestStop();
  const auto status = RunCluster({1, 1}, "");
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->state(), v1::JOB_STATE_STOPPED);
}

TEST_F(ClusterTest, BoundedAndAsyncTrain) {
  for (const v1::Consistency mode :
       {v1::CONSISTENCY_BOUNDED, v1::CONSISTENCY_ASYNC}) {
    job_.mutable_consistency()->set_mode(mode);
    job_.mutable_consistency()->set_staleness(2);
    job_.mutable_checkpointing()->set_every_steps(10);
    const auto status = RunCluster({2, 3}, "");
    ASSERT_TRUE(status.ok()) << status.status();
    EXPECT_EQ(status->state(), v1::JOB_STATE_DONE);
    EXPECT_EQ(status->checkpoint_step(), status->total_steps());
    ASSERT_EQ(status->evaluations_size(), 1);
    EXPECT_GT(status->evaluations(0).accuracy(), 0.6);
  }
}

TEST_F(ClusterTest, FailureOfAWorkerEndsEveryProcess) {
  // The first update makes the weights infinite.
  job_.mutable_data()->set_scale(1e36f);
  job_.mutable_optimizer()->set_learning_rate(1e3);
  job_.mutable_optimizer()->clear_adam();
  job_.mutable_optimizer()->mutable_sgd();
  job_.mutable_optimizer()->clear_clip_global_norm();
  members_end_well_ = false;
  const auto status = RunCluster({1, 2}, "");
  EXPECT_EQ(status.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(status.status().message(), HasSubstr("worker "));
}

}  // namespace
}  // namespace selari
