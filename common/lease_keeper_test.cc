#include "common/lease_keeper.h"

#include <atomic>

#include "common/fake_clock.h"
#include "common/fake_coordinator_client.h"
#include "common/notification.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

class LeaseKeeperTest : public ::testing::Test {
 protected:
  LeaseKeeper::Options Options() {
    LeaseKeeper::Options options;
    options.client = &client_;
    options.clock = &clock_;
    options.interval_ms = 1;
    options.request.set_member_id(3);
    return options;
  }

  FakeClock clock_;
  FakeCoordinatorClient client_;
};

TEST_F(LeaseKeeperTest, TellsHowLongTheCoordinatorIsSilent) {
  client_.on_renew_lease = [this](const v1::RenewLeaseRequest& request)
      -> absl::StatusOr<v1::RenewLeaseResponse> {
    EXPECT_EQ(request.member_id(), 3);
    clock_.AdvanceMs(10);
    return absl::UnavailableError("away");
  };
  Notification done;
  LeaseKeeper::Options options = Options();
  int calls = 0;
  options.on_renewal = [&](const auto& response, int64_t silent_ms) {
    EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(silent_ms, 10 * ++calls);
    if (calls == 3) {
      done.Notify();
    }
    return calls < 3;
  };
  LeaseKeeper keeper(options);
  done.Wait();
}

TEST_F(LeaseKeeperTest, RenewsUntilItIsDestroyed) {
  std::atomic<int> renewals{0};
  client_.on_renew_lease = [&](const v1::RenewLeaseRequest&) {
    ++renewals;
    return v1::RenewLeaseResponse();
  };
  Notification third;
  LeaseKeeper::Options options = Options();
  options.on_renewal = [&](const auto& response, int64_t silent_ms) {
    EXPECT_TRUE(response.ok());
    EXPECT_EQ(silent_ms, 0);
    if (renewals == 3) {
      third.Notify();
    }
    return true;
  };
  {
    LeaseKeeper keeper(options);
    third.Wait();
  }
  EXPECT_GE(renewals, 3);
}

TEST(LeaseKeeperIntervalTest, IsAThirdOfTheLeaseAndAtMostASecond) {
  EXPECT_EQ(LeaseKeeper::IntervalForLease(10'000), 1'000);
  EXPECT_EQ(LeaseKeeper::IntervalForLease(300), 100);
  EXPECT_EQ(LeaseKeeper::IntervalForLease(1), 1);
}

}  // namespace
}  // namespace selari
