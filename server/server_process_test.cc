// Server and coordinator processes against each other, over loopback, in
// threads of this one. Nothing here waits for a time: what must have happened
// is heard from the coordinator's log.

#include "server/server_process.h"

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/job_config.h"
#include "common/mutex.h"
#include "common/posix_file_env.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/checkpoint/checkpoint_list.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator_process.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

// A log that a test can wait on.
class Log {
 public:
  std::function<void(absl::string_view)> sink() {
    return [this](absl::string_view line) {
      MutexLock lock(&mu_);
      lines_.emplace_back(line);
      changed_.NotifyAll();
    };
  }
  void WaitFor(absl::string_view text) {
    MutexLock lock(&mu_);
    while (!Contains(text)) {
      changed_.Wait(&mu_);
    }
  }
  bool Has(absl::string_view text) {
    MutexLock lock(&mu_);
    return Contains(text);
  }

 private:
  bool Contains(absl::string_view text) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (const std::string& line : lines_) {
      if (absl::StrContains(line, text)) {
        return true;
      }
    }
    return false;
  }
  Mutex mu_;
  CondVar changed_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mu_);
};

// A job of the user's own model, so that no worker is needed to run.
v1::ResolvedJob CustomJob(int32_t servers) {
  v1::ResolvedJob job;
  job.set_job_id("0123456789abcdef");
  v1::TensorSpec* tensor =
      job.mutable_job()->mutable_model()->mutable_custom()->add_tensors();
  tensor->set_name("w");
  tensor->add_shape(1000);
  tensor->mutable_initializer()->set_normal_stddev(0.1f);
  *job.add_tensors() = *tensor;
  job.mutable_job()->mutable_optimizer()->mutable_sgd();
  job.mutable_job()->mutable_optimizer()->set_learning_rate(0.1);
  job.mutable_job()->mutable_cluster()->set_servers(servers);
  job.mutable_job()->mutable_cluster()->set_shard_count(3);
  job.mutable_job()->mutable_cluster()->set_server_threads(1);
  job.mutable_job()->mutable_cluster()->set_instruction_set(
      v1::INSTRUCTION_SET_LEVEL2);
  FillJobDefaults(job.mutable_job());
  return job;
}

class ServerProcessTest : public ::testing::Test {
 protected:
  void StartCoordinator(int32_t servers) {
    CoordinatorProcessOptions options;
    options.job = CustomJob(servers);
    options.output_dir = output_dir_;
    options.log = coordinator_log_.sink();
    auto process = CoordinatorProcess::Start(options);
    ASSERT_TRUE(process.ok()) << process.status();
    coordinator_ = *std::move(process);
  }

  ServerOptions Options(int32_t id) {
    ServerOptions options;
    options.coordinator_address = coordinator_->address();
    options.server_id = id;
    options.stop = &stop_;
    options.log = server_log_.sink();
    return options;
  }
  // Runs a server in a thread; its result is in results_[i] after JoinServers.
  void StartServer(int32_t id) {
    results_.emplace_back(absl::UnknownError("still runs"));
    absl::Status* result = &results_.back();
    threads_.emplace_back(
        [this, id, result] { *result = RunServer(Options(id)); });
  }
  void JoinServers() {
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
    for (const absl::Status& result : results_) {
      EXPECT_TRUE(result.ok()) << result;
    }
  }
  void ExpectOneCheckpoint() {
    const auto checkpoints =
        ListCheckpoints(env_, absl::StrCat(output_dir_, "/checkpoints"));
    ASSERT_TRUE(checkpoints.ok()) << checkpoints.status();
    ASSERT_EQ(checkpoints->size(), 1u);
    EXPECT_TRUE((*checkpoints)[0].status.ok()) << (*checkpoints)[0].status;
  }

  PosixFileEnv env_;
  const std::string output_dir_ = absl::StrCat(
      ::testing::TempDir(), "/",
      ::testing::UnitTest::GetInstance()->current_test_info()->name());
  Log coordinator_log_;
  Log server_log_;
  StopToken stop_;
  std::unique_ptr<CoordinatorProcess> coordinator_;
  std::deque<absl::Status> results_;
  std::vector<std::thread> threads_;
};

TEST_F(ServerProcessTest, MissingCoordinatorIsNamedAndGivenUp) {
  ServerOptions options;
  options.coordinator_address = "127.0.0.1:1";
  options.coordinator_timeout_ms = 300;
  options.log = server_log_.sink();
  const absl::Status status = RunServer(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(status.message(),
              HasSubstr("the coordinator at 127.0.0.1:1 did not answer"));
}

TEST_F(ServerProcessTest, PortInUseIsNamed) {
  StartCoordinator(1);
  ServerOptions options = Options(0);
  options.listen_address = coordinator_->address();
  const absl::Status status = RunServer(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr(coordinator_->address()));
}

TEST_F(ServerProcessTest, SecondServerWithOneIdIsRefused) {
  StartCoordinator(2);
  StartServer(0);
  coordinator_log_.WaitFor("server 0 joined");
  const absl::Status second = RunServer(Options(0));
  EXPECT_EQ(second.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(second.message(), HasSubstr("server 0 is there already"));
  stop_.RequestStop();
  EXPECT_TRUE(coordinator_->Wait(&stop_).ok());
  JoinServers();
}

TEST_F(ServerProcessTest, SecondCoordinatorInOneFolderIsRefused) {
  StartCoordinator(1);
  CoordinatorProcessOptions options;
  options.job = CustomJob(1);
  options.output_dir = output_dir_;
  options.log = coordinator_log_.sink();
  EXPECT_EQ(CoordinatorProcess::Start(options).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(ServerProcessTest, StoppedJobIsSavedAndEveryProcessEndsWell) {
  StartCoordinator(2);
  StartServer(-1);
  StartServer(-1);
  coordinator_log_.WaitFor("the shards are ready");
  StopToken stop_coordinator;
  stop_coordinator.RequestStop();
  EXPECT_TRUE(coordinator_->Wait(&stop_coordinator).ok());
  JoinServers();
  ExpectOneCheckpoint();
}

TEST_F(ServerProcessTest, ServerToldToStopHasTheJobSaved) {
  StartCoordinator(1);
  StartServer(0);
  coordinator_log_.WaitFor("the shards are ready");
  stop_.RequestStop();
  EXPECT_TRUE(coordinator_->Wait(/*stop=*/nullptr).ok());
  EXPECT_EQ(coordinator_->coordinator()->state(), v1::JOB_STATE_STOPPED);
  JoinServers();
  ExpectOneCheckpoint();
}

TEST_F(ServerProcessTest, ServerThatWaitsForTheCoordinatorObeysStop) {
  ServerOptions options;
  options.coordinator_address = "127.0.0.1:1";
  options.stop = &stop_;
  options.log = server_log_.sink();
  stop_.RequestStop();
  EXPECT_TRUE(RunServer(options).ok());
}

TEST_F(ServerProcessTest, DamagedCheckpointIsNamedBeforeAnythingStarts) {
  CoordinatorProcessOptions options;
  options.job = CustomJob(1);
  options.output_dir = output_dir_;
  options.resume_checkpoint = absl::StrCat(output_dir_, "/none");
  options.log = coordinator_log_.sink();
  const auto process = CoordinatorProcess::Start(options);
  EXPECT_EQ(process.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(process.status().message(), HasSubstr("/none"));
}

}  // namespace
}  // namespace selari
