#include "worker/map_follower.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

  static v1::RenewLeaseResponse Renewal(v1::JobState state, int64_t version,
                                        int64_t base) {
    v1::RenewLeaseResponse renewal;
    renewal.set_state(state);
    renewal.set_shard_map_version(version);
    renewal.set_base_map_version(base);
    return renewal;
  }
  void Answer(v1::JobState state, int64_t version, int64_t base = 0) {
    answers_.push_back(Renewal(state, version, base));
  }
  void Hear(int64_t version) {
    maps_->OnRenewal(Renewal(v1::JOB_STATE_RUNNING, version, /*base=*/0));
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
  Hear(kMap + 1);  // no steps yet
  {
    const MapFollower::Use use(maps_.get(), kMap, &off);
    Hear(kMap);
    EXPECT_TRUE(off.status().ok());
    Hear(kMap + 1);
    EXPECT_TRUE(absl::IsUnavailable(off.status()));
    EXPECT_EQ(ReasonOf(off.status()), ErrorReason::kStaleIncarnation);
  }
  Hear(kMap + 2);  // they are over
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

struct Case {
  int64_t base;  // 0: the coordinator does not say
  int64_t version;
  v1::JobState state;
  bool goes_back;
};

// The worker's steps began with map 3.
constexpr Case kCases[] = {
    {0, 3, v1::JOB_STATE_RUNNING, false},
    {0, 3, v1::JOB_STATE_FINISHING, false},
    {0, 3, v1::JOB_STATE_JOINING, true},
    {0, 3, v1::JOB_STATE_INITIALIZING, true},
    {0, 4, v1::JOB_STATE_RUNNING, true},
    {1, 3, v1::JOB_STATE_RUNNING, false},
    {3, 3, v1::JOB_STATE_RUNNING, false},
    {3, 3, v1::JOB_STATE_JOINING, false},
    {3, 3, v1::JOB_STATE_INITIALIZING, false},
    {3, 4, v1::JOB_STATE_RUNNING, false},
    {3, 4, v1::JOB_STATE_FINISHING, false},
    {2, 7, v1::JOB_STATE_JOINING, false},
    {4, 3, v1::JOB_STATE_JOINING, true},
    {4, 4, v1::JOB_STATE_INITIALIZING, true},
    {4, 4, v1::JOB_STATE_RUNNING, true},
    {5, 6, v1::JOB_STATE_FINISHING, true},
};

std::string NameOf(const Case& c) {
  return absl::StrCat("base ", c.base, ", map ", c.version, ", ",
                      v1::JobState_Name(c.state));
}

TEST_F(MapFollowerTest, AWorkerGoesBackWithTheBaseAlone) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(NameOf(c));
    // Whoever is not to go back hears of the job's end next.
    answers_.clear();
    Answer(c.state, c.version, c.base);
    Answer(v1::JOB_STATE_DONE, c.version, c.base);
    const std::vector<v1::RenewLeaseResponse> answers = answers_;
    EXPECT_EQ(maps_->MayTryAgain(Lost(), kMap), c.goes_back);
    answers_ = answers;
    EXPECT_EQ(maps_->WaitForEnd(kMap), !c.goes_back);
  }
}

TEST_F(MapFollowerTest, StepsEndWithTheBaseAlone) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(NameOf(c));
    const v1::RenewLeaseResponse renewal = Renewal(c.state, c.version, c.base);
    TransportSwitch off;
    const MapFollower::Use use(maps_.get(), kMap, &off);
    maps_->OnRenewal(renewal);
    // Of a coordinator that does not say, the map to come is waited for.
    const bool ends = c.goes_back && (c.base > 0 || c.version > kMap);
    EXPECT_EQ(off.status().ok(), !ends);
    EXPECT_EQ(IsUndone(renewal, kMap), ends);
  }
}

TEST_F(MapFollowerTest, TheNewestMapIsRemembered) {
  EXPECT_EQ(maps_->newest_version(), 0);
  Hear(kMap + 1);
  Hear(kMap);
  EXPECT_EQ(maps_->newest_version(), kMap + 1);
}

}  // namespace
}  // namespace selari
