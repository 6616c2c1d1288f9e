#include "worker/map_follower.h"

#include <vector>

#include "common/error_reason.h"
#include "common/fake_clock.h"
#include "common/fake_coordinator_client.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

constexpr int64_t kMap = 3;

class MapFollowerTest : public ::testing::Test {
 protected:
  MapFollowerTest() {
    client_.on_renew_lease = [this](const v1::RenewLeaseRequest& request)
        -> absl::StatusOr<v1::RenewLeaseResponse> {
      EXPECT_EQ(request.member_id(), 2);
      EXPECT_EQ(request.incarnation(), 77u);
      clock_.AdvanceMs(100);
      if (answers_.empty()) {
        return absl::UnavailableError("away");
      }
      const v1::RenewLeaseResponse answer = answers_.front();
      if (answers_.size() > 1) {
        answers_.erase(answers_.begin());
      }
      return answer;
    };
    MapFollower::Options options;
    options.client = &client_;
    options.clock = &clock_;
    options.identity = {2, 77};
    options.lease_ms = 1000;
    options.on_state = [this](v1::JobState state) {
      return state == v1::JOB_STATE_FAILED ? absl::AbortedError("failed")
                                           : end_;
    };
    maps_ = std::make_unique<MapFollower>(options);
  }

  void Answer(v1::JobState state, int64_t version) {
    answers_.emplace_back();
    answers_.back().set_state(state);
    answers_.back().set_shard_map_version(version);
  }
  static absl::Status Lost() {
    return WithReason(absl::FailedPreconditionError("it restarted"),
                      ErrorReason::kStaleIncarnation);
  }

  FakeClock clock_;
  FakeCoordinatorClient client_;
  std::vector<v1::RenewLeaseResponse> answers_;  // the last one stays
  absl::Status end_;
  std::unique_ptr<MapFollower> maps_;
};

TEST_F(MapFollowerTest, ANewerMapEndsTheSteps) {
  TransportSwitch off;
  maps_->OnMap(kMap + 1);  // no steps yet
  {
    const MapFollower::Use use(maps_.get(), kMap, &off);
    maps_->OnMap(kMap);
    EXPECT_TRUE(off.status().ok());
    maps_->OnMap(kMap + 1);
    EXPECT_TRUE(absl::IsUnavailable(off.status()));
    EXPECT_EQ(ReasonOf(off.status()), ErrorReason::kStaleIncarnation);
  }
  maps_->OnMap(kMap + 2);  // they are over
}

TEST_F(MapFollowerTest, StepsBeginAnewWhenTheCoordinatorHasHeardOfTheLoss) {
  Answer(v1::JOB_STATE_RUNNING, kMap);
  Answer(v1::JOB_STATE_RUNNING, kMap);
  Answer(v1::JOB_STATE_JOINING, kMap);
  EXPECT_TRUE(maps_->MayTryAgain(Lost(), kMap));
  EXPECT_EQ(answers_.size(), 1u);
  answers_.clear();
  Answer(v1::JOB_STATE_RUNNING, kMap + 1);
  EXPECT_TRUE(maps_->MayTryAgain(absl::UnavailableError("gone"), kMap));
}

TEST_F(MapFollowerTest, NobodyWaitsForEver) {
  Answer(v1::JOB_STATE_RUNNING, kMap);
  const int64_t begin_ms = clock_.NowMs();
  EXPECT_FALSE(maps_->MayTryAgain(Lost(), kMap));
  EXPECT_EQ(clock_.NowMs() - begin_ms, 2000) << "two leases";
}

TEST_F(MapFollowerTest, AnErrorOfTheWorkerItselfIsNoLoss) {
  Answer(v1::JOB_STATE_JOINING, kMap);
  const int64_t begin_ms = clock_.NowMs();
  EXPECT_FALSE(maps_->MayTryAgain(absl::InvalidArgumentError("NaN"), kMap));
  EXPECT_EQ(clock_.NowMs(), begin_ms) << "nobody was asked";
}

TEST_F(MapFollowerTest, AJobThatFailedIsNotTriedAgain) {
  Answer(v1::JOB_STATE_FAILED, kMap);
  EXPECT_FALSE(maps_->MayTryAgain(Lost(), kMap));
}

TEST_F(MapFollowerTest, AfterTheLastStepTheJobEndsOrGoesBack) {
  Answer(v1::JOB_STATE_FINISHING, kMap);
  Answer(v1::JOB_STATE_DONE, kMap);
  EXPECT_TRUE(maps_->WaitForEnd(kMap));
  answers_.clear();
  Answer(v1::JOB_STATE_FINISHING, kMap);
  Answer(v1::JOB_STATE_JOINING, kMap);
  EXPECT_FALSE(maps_->WaitForEnd(kMap));
  answers_.clear();
  Answer(v1::JOB_STATE_FAILED, kMap);
  EXPECT_TRUE(maps_->WaitForEnd(kMap));
  answers_.clear();
  end_ = absl::CancelledError("the worker is told to end");
  EXPECT_TRUE(maps_->WaitForEnd(kMap));
}

}  // namespace
}  // namespace selari
