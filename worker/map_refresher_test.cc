#include "worker/map_refresher.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "common/fake_coordinator_client.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "worker/client/cancellable_transport.h"
#include "worker/client/shard_transport.h"

namespace selari {
namespace {

constexpr int64_t kMap = 3;

// What has happened, shared with the refresher's thread.
struct Seen {
  Mutex mu;
  CondVar changed;
  bool away = false;
  absl::Status map_status;
  std::vector<int64_t> maps;  // given to the transport
  int looks = 0;              // at the newest version
  int map_asked = 0;
  int renewals = 0;
  absl::Status failure;

  void Count(int* count) {
    MutexLock lock(&mu);
    ++*count;
    changed.NotifyAll();
  }
  void WaitForMore(const int* count, int more) {
    MutexLock lock(&mu);
    const int end = *count + more;
    while (*count < end) {
      changed.Wait(&mu);
    }
  }
};

class FakeTransport : public ShardTransport {
 public:
  explicit FakeTransport(Seen* seen) : seen_(*seen) {}
  absl::Status Start(Listener* /*listener*/, int64_t /*timeout_ms*/) override {
    return absl::OkStatus();
  }
  void Send(std::vector<ShardRequest> /*requests*/) override {}
  void WaitForWindow() override {}
  void Stop() override {}
  TransportStats Stats() const override { return {}; }
  absl::Status UseMap(const v1::ShardMap& map) override {
    MutexLock lock(&seen_.mu);
    seen_.maps.push_back(map.version());
    seen_.changed.NotifyAll();
    return seen_.map_status;
  }
  bool SomeServerIsAway() const override {
    MutexLock lock(&seen_.mu);
    return seen_.away;
  }

 private:
  Seen& seen_;
};

class FailureListener : public ShardTransport::Listener {
 public:
  explicit FailureListener(Seen* seen) : seen_(*seen) {}
  void OnReplies(std::vector<ShardReply> /*replies*/) override {}
  std::vector<ShardRequest> OnConnected(
      const std::vector<int32_t>& /*shards*/) override {
    return {};
  }
  void OnFailed(const absl::Status& status) override {
    MutexLock lock(&seen_.mu);
    seen_.failure = status;
    seen_.changed.NotifyAll();
  }

 private:
  Seen& seen_;
};

class MapRefresherTest : public ::testing::Test {
 protected:
  MapRefresherTest() {
    client_.on_get_shard_map =
        [this]() -> absl::StatusOr<v1::GetShardMapResponse> {
      seen_.Count(&seen_.map_asked);
      MutexLock lock(&seen_.mu);
      if (away_answers_-- > 0) {
        return absl::UnavailableError("no shard map yet");
      }
      v1::GetShardMapResponse response;
      response.mutable_shard_map()->set_version(map_);
      return response;
    };
    client_.on_renew_lease = [this](const v1::RenewLeaseRequest& request)
        -> absl::StatusOr<v1::RenewLeaseResponse> {
      EXPECT_EQ(request.kind(), v1::MEMBER_KIND_WORKER);
      EXPECT_EQ(request.member_id(), 2);
      EXPECT_EQ(request.incarnation(), 77u);
      seen_.Count(&seen_.renewals);
      MutexLock lock(&seen_.mu);
      v1::RenewLeaseResponse response;
      response.set_state(v1::JOB_STATE_RUNNING);
      response.set_shard_map_version(map_);
      response.set_base_map_version(base_);
      return response;
    };
    options_.client = &client_;
    options_.transport = &off_;
    options_.identity = {2, 77};
    options_.map_version = kMap;
    options_.newest_version = [this] {
      seen_.Count(&seen_.looks);
      MutexLock lock(&seen_.mu);
      return heard_;
    };
    options_.interval_ms = 1;
  }

  void StartTransport() {
    transport_ = std::make_unique<CancellableTransport>(
        std::make_unique<FakeTransport>(&seen_), &off_);
    ASSERT_TRUE(transport_->Start(&listener_, 1000).ok());
  }
  void WaitForMaps(size_t count) {
    MutexLock lock(&seen_.mu);
    while (seen_.maps.size() < count) {
      seen_.changed.Wait(&seen_.mu);
    }
  }
  std::vector<int64_t> maps() {
    MutexLock lock(&seen_.mu);
    return seen_.maps;
  }

  // Set before the refresher begins.
  int64_t map_ = kMap;
  int64_t base_ = kMap;
  int64_t heard_ = kMap;
  int away_answers_ = 0;

  Seen seen_;
  FakeCoordinatorClient client_;
  FailureListener listener_{&seen_};
  TransportSwitch off_;
  std::unique_ptr<CancellableTransport> transport_;
  MapRefresher::Options options_;
};

TEST_F(MapRefresherTest, NobodyIsAskedWhileAllServersAreThere) {
  StartTransport();
  map_ = kMap + 1;
  const MapRefresher refresher(options_);
  seen_.WaitForMore(&seen_.looks, 5);
  MutexLock lock(&seen_.mu);
  EXPECT_EQ(seen_.map_asked, 0);
}

TEST_F(MapRefresherTest, ServerThatIsAwayIsFoundByTheNewMap) {
  StartTransport();
  seen_.away = true;
  map_ = kMap + 1;
  std::vector<int64_t> told;
  options_.on_map = [&told](int64_t version) { told.push_back(version); };
  {
    const MapRefresher refresher(options_);
    WaitForMaps(1);
    seen_.WaitForMore(&seen_.map_asked, 3);  // it is still away
  }
  EXPECT_EQ(maps(), std::vector<int64_t>{kMap + 1}) << "given once";
  EXPECT_EQ(told, maps());
}

TEST_F(MapRefresherTest, MapThatWasHeardOfIsAskedFor) {
  StartTransport();
  map_ = heard_ = kMap + 2;
  const MapRefresher refresher(options_);
  WaitForMaps(1);
  seen_.WaitForMore(&seen_.looks, 3);
  EXPECT_EQ(maps(), std::vector<int64_t>{kMap + 2});
  MutexLock lock(&seen_.mu);
  EXPECT_EQ(seen_.map_asked, 1);
}

TEST_F(MapRefresherTest, MapThatIsNotThereYetIsAskedForAgain) {
  StartTransport();
  seen_.away = true;
  away_answers_ = 3;
  map_ = kMap + 1;
  const MapRefresher refresher(options_);
  WaitForMaps(1);
  MutexLock lock(&seen_.mu);
  EXPECT_GE(seen_.map_asked, 4);
}

TEST_F(MapRefresherTest, MapOfAJobThatWentBackIsNotForTheseSteps) {
  for (const int64_t base : {kMap + 1, int64_t{0}}) {
    SCOPED_TRACE(base);
    StartTransport();
    seen_.away = true;
    map_ = kMap + 1;
    base_ = base;
    const MapRefresher refresher(options_);
    seen_.WaitForMore(&seen_.map_asked, 4);
    EXPECT_TRUE(maps().empty());
    EXPECT_TRUE(off_.status().ok()) << "that is for the MapFollower";
  }
}

TEST_F(MapRefresherTest, TransportThatStartsLaterIsLedThereToo) {
  map_ = heard_ = kMap + 1;
  const MapRefresher refresher(options_);
  seen_.WaitForMore(&seen_.renewals, 2);
  StartTransport();
  WaitForMaps(1);
}

TEST_F(MapRefresherTest, MapThatMovesShardsEndsTheSteps) {
  StartTransport();
  seen_.away = true;
  seen_.map_status = absl::FailedPreconditionError("moves shard 1");
  map_ = kMap + 1;
  const MapRefresher refresher(options_);
  MutexLock lock(&seen_.mu);
  while (seen_.failure.ok()) {
    seen_.changed.Wait(&seen_.mu);
  }
  EXPECT_EQ(seen_.failure, seen_.map_status);
}

}  // namespace
}  // namespace selari
