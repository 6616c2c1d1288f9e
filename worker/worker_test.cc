// What ends a worker before its first step; tests/integration/cluster_test.cc
// runs whole jobs.

#include "worker/worker.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/error_reason.h"
#include "common/fake_coordinator_client.h"
#include "common/file_env.h"
#include "common/job_config.h"
#include "common/posix_file_env.h"
#include "common/stop_token.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "worker/client/parameter_client.h"
#include "worker/client/shard_transport.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

class WorkerTest : public ::testing::Test {
 protected:
  WorkerTest() {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        "data { train { csv { path: \"train.csv\" label_column: \"y\" } } }"
        "model { layers { dense { units: 2 } }"
        "        loss: LOSS_SOFTMAX_CROSS_ENTROPY }"
        "cluster { servers: 1 worker_threads: 1 instruction_set: "
        "INSTRUCTION_SET_LEVEL2 }",
        job_.mutable_job()));
    FillJobDefaults(job_.mutable_job());
    job_.set_job_id("j");
    job_.add_feature_shape(1);
    job_.set_class_count(2);
    job_.set_train_sample_count(2);
    job_.set_total_steps(1);
    dir_ = absl::StrCat(
        ::testing::TempDir(), "/",
        ::testing::UnitTest::GetInstance()->current_test_info()->name());
    EXPECT_TRUE(env_.CreateDirs(dir_).ok());
    WriteData("x,y\n0.5,0\n1.5,1\n");

    options_.coordinator = &client_;
    options_.make_transport = [](const v1::ResolvedJob&, const v1::ShardMap&,
                                 const WorkerIdentity&)
        -> absl::StatusOr<std::unique_ptr<ShardTransport>> {
      return absl::InternalError("no transport in this test");
    };
    options_.base_dir = dir_;
    options_.coordinator_timeout_ms = 300;
    options_.stop = &stop_;
    options_.log = [](absl::string_view) {};
    client_.on_get_job = [this]() -> absl::StatusOr<v1::GetJobResponse> {
      v1::GetJobResponse response;
      *response.mutable_job() = job_;
      return response;
    };
    client_.on_register_worker = [this](const v1::RegisterWorkerRequest& r)
        -> absl::StatusOr<v1::RegisterWorkerResponse> {
      registration_ = r;
      v1::RegisterWorkerResponse response;
      response.set_lease_ms(3);
      return response;
    };
    client_.on_renew_lease = [](const v1::RenewLeaseRequest&)
        -> absl::StatusOr<v1::RenewLeaseResponse> {
      v1::RenewLeaseResponse response;
      response.set_state(v1::JOB_STATE_JOINING);
      return response;
    };
    client_.on_report_progress = [this](const v1::ReportProgressRequest& report)
        -> absl::StatusOr<v1::ReportProgressResponse> {
      last_report_ = report;
      return v1::ReportProgressResponse();
    };
  }

  void WriteData(absl::string_view csv) {
    EXPECT_TRUE(
        WriteFileAtomically(env_, JoinPath(dir_, "train.csv"), csv).ok());
  }
  void StatusIs(v1::JobState state, const std::string& message) {
    client_.on_get_job_status = [=]() -> absl::StatusOr<v1::JobStatus> {
      v1::JobStatus status;
      status.set_state(state);
      status.set_message(message);
      return status;
    };
  }

  PosixFileEnv env_;
  std::string dir_;
  v1::ResolvedJob job_;
  StopToken stop_;
  FakeCoordinatorClient client_;
  WorkerOptions options_;
  v1::RegisterWorkerRequest registration_;
  v1::ReportProgressRequest last_report_;
};

TEST_F(WorkerTest, MissingCoordinatorIsGivenUp) {
  client_.on_get_job = []() -> absl::StatusOr<v1::GetJobResponse> {
    return absl::UnavailableError("refused");
  };
  const auto result = RunWorker(options_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(result.status().message(), HasSubstr("refused"));
}

TEST_F(WorkerTest, MissingDataIsNamed) {
  ASSERT_TRUE(env_.RemoveFile(JoinPath(dir_, "train.csv")).ok());
  const auto result = RunWorker(options_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(result.status().message(), HasSubstr("train.csv"));
  EXPECT_EQ(registration_.incarnation(), 0u);
}

TEST_F(WorkerTest, DataOfAnotherShapeIsNamed) {
  WriteData("a,b,y\n0.5,1,0\n1.5,1,1\n");
  const auto result = RunWorker(options_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(),
              HasSubstr("samples of shape 2, the job has 1"));
}

TEST_F(WorkerTest, ModelOfTheUsersOwnIsRefused) {
  job_.mutable_job()->mutable_model()->mutable_custom();
  const auto result = RunWorker(options_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(result.status().message(), HasSubstr("model.custom"));
}

TEST_F(WorkerTest, RefusalOfTheCoordinatorIsReturned) {
  client_.on_register_worker = [](const v1::RegisterWorkerRequest&)
      -> absl::StatusOr<v1::RegisterWorkerResponse> {
    return absl::AlreadyExistsError("worker 0 is there already");
  };
  EXPECT_EQ(RunWorker(options_).status().code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(WorkerTest, RegistersWhatItSees) {
  StatusIs(v1::JOB_STATE_FAILED, "server 1 has been missing for 60 s");
  options_.worker_id = 0;
  const auto result = RunWorker(options_);
  EXPECT_EQ(registration_.train_sample_count(), 2);
  EXPECT_NE(registration_.train_data_checksum(), 0u);
  EXPECT_EQ(registration_.job_id(), "j");
  EXPECT_EQ(registration_.worker_id(), 0);
  EXPECT_NE(registration_.incarnation(), 0u);
}

TEST_F(WorkerTest, FailureOfTheJobIsTold) {
  StatusIs(v1::JOB_STATE_FAILED, "server 1 has been missing for 60 s");
  const auto result = RunWorker(options_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kAborted);
  EXPECT_THAT(result.status().message(), HasSubstr("server 1 has been"));
  EXPECT_TRUE(last_report_.leaving());
}

TEST_F(WorkerTest, StoppedJobEndsItWell) {
  StatusIs(v1::JOB_STATE_STOPPED, "");
  const auto result = RunWorker(options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->stopped_early);
  EXPECT_TRUE(last_report_.leaving());
  EXPECT_FALSE(last_report_.finished());
  EXPECT_EQ(last_report_.error(), "");
}

// As of a life that came while the others did the last step.
TEST_F(WorkerTest, AJobThatIsDoneEndsItWell) {
  StatusIs(v1::JOB_STATE_DONE, "");
  const auto result = RunWorker(options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->stopped_early);
  EXPECT_EQ(last_report_.error(), "");
}

// Its start waits for a server that comes back, and ends the worker when a
// map says where.
class WaitingTransport : public ShardTransport {
 public:
  absl::Status Start(Listener* /*listener*/, int64_t timeout_ms) override {
    EXPECT_TRUE(ends_.WaitForMs(timeout_ms));
    return absl::InvalidArgumentError(absl::StrCat("map ", map_, " is there"));
  }
  void InterruptStart() override { ends_.RequestStop(); }
  void Send(std::vector<ShardRequest> /*requests*/) override {}
  void WaitForWindow() override {}
  void Stop() override {}
  TransportStats Stats() const override { return {}; }
  absl::Status UseMap(const v1::ShardMap& map) override {
    map_ = map.version();
    ends_.RequestStop();
    return absl::OkStatus();
  }
  bool SomeServerIsAway() const override { return true; }

 private:
  StopToken ends_;
  int64_t map_ = 0;  // written before ends_, read after it
};

class JournaledWorkerTest : public WorkerTest {
 protected:
  JournaledWorkerTest() {
    job_.mutable_job()->mutable_checkpointing()->set_durability(
        v1::DURABILITY_JOURNALED);
    job_.add_tensors()->add_shape(2);
    options_.coordinator_timeout_ms = 60'000;
    StatusIs(v1::JOB_STATE_RUNNING, "");
    // Map 2 comes once the steps have begun with map 1.
    client_.on_get_shard_map =
        [this]() -> absl::StatusOr<v1::GetShardMapResponse> {
      v1::GetShardMapResponse response;
      response.mutable_shard_map()->set_version(begun_ ? 2 : 1);
      return response;
    };
    options_.make_transport = [this](const v1::ResolvedJob&,
                                     const v1::ShardMap& map,
                                     const WorkerIdentity&)
        -> absl::StatusOr<std::unique_ptr<ShardTransport>> {
      begun_ = true;
      if (map.version() == 2) {
        return absl::InvalidArgumentError("begins anew with map 2");
      }
      return std::make_unique<WaitingTransport>();
    };
  }

  void RenewalsSayBase(int64_t base) {
    client_.on_renew_lease = [=](const v1::RenewLeaseRequest&)
        -> absl::StatusOr<v1::RenewLeaseResponse> {
      v1::RenewLeaseResponse response;
      response.set_state(v1::JOB_STATE_RUNNING);
      response.set_shard_map_version(begun_ ? 2 : 1);
      response.set_base_map_version(begun_ ? base : 1);
      return response;
    };
  }

  std::atomic<bool> begun_{false};
};

TEST_F(JournaledWorkerTest, FollowsAServerThatComesBack) {
  RenewalsSayBase(1);
  EXPECT_THAT(std::string(RunWorker(options_).status().message()),
              HasSubstr("map 2 is there"));
}

TEST_F(JournaledWorkerTest, GoesBackWithTheJob) {
  RenewalsSayBase(2);
  EXPECT_THAT(std::string(RunWorker(options_).status().message()),
              HasSubstr("begins anew with map 2"));
}

// A life of a worker that finds the step of the others.
class ReturningWorkerTest : public WorkerTest {
 protected:
  ReturningWorkerTest() {
    StatusIs(v1::JOB_STATE_RUNNING, "");
    job_.add_tensors()->add_shape(2);
    client_.on_renew_lease = [](const v1::RenewLeaseRequest&)
        -> absl::StatusOr<v1::RenewLeaseResponse> {
      v1::RenewLeaseResponse response;
      response.set_state(v1::JOB_STATE_RUNNING);
      return response;
    };
    client_.on_get_shard_map = []() -> absl::StatusOr<v1::GetShardMapResponse> {
      return v1::GetShardMapResponse();
    };
    options_.make_transport = [this](const v1::ResolvedJob&,
                                     const v1::ShardMap&, const WorkerIdentity&)
        -> absl::StatusOr<std::unique_ptr<ShardTransport>> {
      return WithReason(absl::FailedPreconditionError(absl::StrCat(
                            "exactly version 1 is gone, try ", ++tries_)),
                        ErrorReason::kStepTooFar);
    };
  }
  void Finds(bool finds) {
    client_.on_register_worker = [finds](const v1::RegisterWorkerRequest&)
        -> absl::StatusOr<v1::RegisterWorkerResponse> {
      v1::RegisterWorkerResponse response;
      response.set_lease_ms(3);
      response.set_find_step(finds);
      return response;
    };
  }

  int tries_ = 0;
};

TEST_F(ReturningWorkerTest, LooksAgainWhereTheStepThatItFoundIsGone) {
  Finds(true);
  EXPECT_THAT(std::string(RunWorker(options_).status().message()),
              HasSubstr("is gone, try 5"));
}

// Waits for a server that is gone for good.
class DeafTransport : public ShardTransport {
 public:
  absl::Status Start(Listener* /*listener*/, int64_t timeout_ms) override {
    EXPECT_TRUE(ends_.WaitForMs(timeout_ms));
    return absl::CancelledError("interrupted");
  }
  void InterruptStart() override { ends_.RequestStop(); }
  void Send(std::vector<ShardRequest> /*requests*/) override {}
  void WaitForWindow() override {}
  void Stop() override {}
  TransportStats Stats() const override { return {}; }

 private:
  StopToken ends_;
};

TEST_F(ReturningWorkerTest, HearsThatTheJobIsDoneWhileItLooks) {
  Finds(true);
  options_.coordinator_timeout_ms = 60'000;
  std::atomic<bool> looks{false};
  options_.make_transport = [&looks](const v1::ResolvedJob&,
                                     const v1::ShardMap&, const WorkerIdentity&)
      -> absl::StatusOr<std::unique_ptr<ShardTransport>> {
    looks = true;
    return std::make_unique<DeafTransport>();
  };
  client_.on_renew_lease = [&looks](const v1::RenewLeaseRequest&)
      -> absl::StatusOr<v1::RenewLeaseResponse> {
    v1::RenewLeaseResponse response;
    response.set_state(looks ? v1::JOB_STATE_DONE : v1::JOB_STATE_RUNNING);
    return response;
  };
  const auto result = RunWorker(options_);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_FALSE(result->stopped_early);
}

TEST_F(ReturningWorkerTest, OneThatIsInStepDoesNot) {
  Finds(false);
  EXPECT_THAT(std::string(RunWorker(options_).status().message()),
              HasSubstr("is gone, try 1"));
}

TEST_F(WorkerTest, ToldToStopItStopsTheJob) {
  StatusIs(v1::JOB_STATE_JOINING, "waits for server 0 of 1 to join");
  client_.on_stop_job = []() -> absl::StatusOr<v1::StopJobResponse> {
    return absl::UnavailableError("away");
  };
  client_.on_renew_lease = [this](const v1::RenewLeaseRequest&)
      -> absl::StatusOr<v1::RenewLeaseResponse> {
    stop_.RequestStop();
    return v1::RenewLeaseResponse();
  };
  const auto result = RunWorker(options_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(result.status().message(),
              HasSubstr("told to stop, but the job could not be stopped"));
}

TEST_F(WorkerTest, ErrorBeforeTheFirstStepIsReported) {
  StatusIs(v1::JOB_STATE_RUNNING, "");
  client_.on_get_shard_map = []() -> absl::StatusOr<v1::GetShardMapResponse> {
    return v1::GetShardMapResponse();
  };
  const auto result = RunWorker(options_);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(last_report_.error(), HasSubstr("no transport in this test"));
}

}  // namespace
}  // namespace selari
