#include "common/job_stopper.h"

#include "common/fake_coordinator_client.h"
#include "common/notification.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

class JobStopperTest : public ::testing::Test {
 protected:
  JobStopper::Options Options() {
    JobStopper::Options options;
    options.client = &client_;
    options.stop = &stop_;
    options.log = [](absl::string_view) {};
    options.on_failed = [this](const absl::Status& status) {
      failure_ = status;
      failed_.Notify();
    };
    return options;
  }

  FakeCoordinatorClient client_;
  StopToken stop_;
  absl::Status failure_;
  Notification failed_;
};

TEST_F(JobStopperTest, FailureIsTold) {
  client_.on_stop_job = []() -> absl::StatusOr<v1::StopJobResponse> {
    return absl::UnavailableError("away");
  };
  JobStopper stopper(Options());
  stop_.RequestStop();
  failed_.Wait();
  EXPECT_EQ(failure_.code(), absl::StatusCode::kUnavailable);
}

TEST_F(JobStopperTest, StopsTheJobOnce) {
  int stops = 0;
  Notification stopped;
  client_.on_stop_job = [&] {
    ++stops;
    stopped.Notify();
    return v1::StopJobResponse();
  };
  {
    JobStopper stopper(Options());
    stop_.RequestStop();
    stopped.Wait();
  }
  EXPECT_EQ(stops, 1);
  EXPECT_FALSE(failed_.notified());
}

TEST_F(JobStopperTest, DoesNothingUntold) {
  client_.on_stop_job = []() -> absl::StatusOr<v1::StopJobResponse> {
    ADD_FAILURE();
    return v1::StopJobResponse();
  };
  JobStopper stopper(Options());
  JobStopper without_token([&] {
    JobStopper::Options options = Options();
    options.stop = nullptr;
    return options;
  }());
}

}  // namespace
}  // namespace selari
