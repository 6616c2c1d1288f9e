#include "worker/client/cancellable_transport.h"

#include <memory>
#include <thread>
#include <vector>

#include "common/stop_token.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

struct Calls {
  int starts = 0;
  int stops = 0;
  ShardTransport::Listener* listener = nullptr;
  std::vector<int64_t> maps;
};

class RecordingTransport : public ShardTransport {
 public:
  explicit RecordingTransport(Calls* calls) : calls_(*calls) {}
  absl::Status Start(Listener* listener, int64_t /*timeout_ms*/) override {
    ++calls_.starts;
    calls_.listener = listener;
    return absl::OkStatus();
  }
  void Send(std::vector<ShardRequest> /*requests*/) override {}
  void WaitForWindow() override {}
  void Stop() override { ++calls_.stops; }
  TransportStats Stats() const override { return {}; }
  absl::Status UseMap(const v1::ShardMap& map) override {
    calls_.maps.push_back(map.version());
    return absl::FailedPreconditionError("moves a shard");
  }
  bool SomeServerIsAway() const override { return true; }

 private:
  Calls& calls_;
};

class RecordingListener : public ShardTransport::Listener {
 public:
  void OnReplies(std::vector<ShardReply> /*replies*/) override {}
  std::vector<ShardRequest> OnConnected(
      const std::vector<int32_t>& /*shards*/) override {
    return {};
  }
  void OnFailed(const absl::Status& status) override {
    failures.push_back(status);
  }
  std::vector<absl::Status> failures;
};

class CancellableTransportTest : public ::testing::Test {
 protected:
  Calls calls_;
  RecordingListener listener_;
  TransportSwitch off_;
  std::unique_ptr<CancellableTransport> transport_ =
      std::make_unique<CancellableTransport>(
          std::make_unique<RecordingTransport>(&calls_), &off_);
};

TEST_F(CancellableTransportTest, CancelFailsTheListenerOnce) {
  ASSERT_TRUE(transport_->Start(&listener_, 1000).ok());
  off_.Cancel(absl::AbortedError("job failed"));
  off_.Cancel(absl::AbortedError("again"));
  calls_.listener->OnFailed(absl::UnavailableError("gone"));
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_EQ(listener_.failures[0], absl::AbortedError("job failed"));
  EXPECT_EQ(calls_.stops, 1);
}

TEST_F(CancellableTransportTest, CancelledBeforeTheStartNeverConnects) {
  off_.Cancel(absl::AbortedError("job failed"));
  EXPECT_EQ(transport_->Start(&listener_, 1000),
            absl::AbortedError("job failed"));
  EXPECT_EQ(calls_.starts, 0);
  EXPECT_TRUE(listener_.failures.empty());
}

// Its Start waits for a server that never comes.
class WaitingTransport : public RecordingTransport {
 public:
  WaitingTransport(Calls* calls, StopToken* waits)
      : RecordingTransport(calls), waits_(*waits) {}
  absl::Status Start(Listener* /*listener*/, int64_t timeout_ms) override {
    waits_.RequestStop();
    return interrupted_.WaitForMs(timeout_ms)
               ? absl::CancelledError("stopped while connecting")
               : absl::UnavailableError("server 0 does not answer");
  }
  void InterruptStart() override { interrupted_.RequestStop(); }

 private:
  StopToken& waits_;
  StopToken interrupted_;
};

TEST_F(CancellableTransportTest, CancelEndsAStartThatWaits) {
  StopToken waits;
  CancellableTransport transport(
      std::make_unique<WaitingTransport>(&calls_, &waits), &off_);
  std::thread other([&] {
    waits.WaitForMs(60'000);
    off_.Cancel(absl::AbortedError("job failed"));
  });
  EXPECT_EQ(transport.Start(&listener_, 60'000),
            absl::AbortedError("job failed"));
  other.join();
  EXPECT_TRUE(listener_.failures.empty());
}

TEST_F(CancellableTransportTest, OwnFailureComesThroughOnce) {
  ASSERT_TRUE(transport_->Start(&listener_, 1000).ok());
  calls_.listener->OnFailed(absl::UnavailableError("server 1 is away"));
  off_.Cancel(absl::AbortedError("job failed"));
  ASSERT_EQ(listener_.failures.size(), 1u);
  EXPECT_EQ(listener_.failures[0].code(), absl::StatusCode::kUnavailable);
}

TEST_F(CancellableTransportTest, MapReachesTheTransportWhileThereIsOne) {
  v1::ShardMap map;
  map.set_version(4);
  EXPECT_TRUE(absl::IsUnavailable(off_.UseMap(map)));
  EXPECT_FALSE(off_.SomeServerIsAway());
  ASSERT_TRUE(transport_->Start(&listener_, 1000).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(off_.UseMap(map)));
  EXPECT_TRUE(off_.SomeServerIsAway());
  EXPECT_TRUE(absl::IsFailedPrecondition(transport_->UseMap(map)));
  EXPECT_TRUE(transport_->SomeServerIsAway());
  EXPECT_EQ(calls_.maps, (std::vector<int64_t>{4, 4}));
  transport_.reset();
  EXPECT_TRUE(absl::IsUnavailable(off_.UseMap(map)));
  EXPECT_FALSE(off_.SomeServerIsAway());
}

TEST_F(CancellableTransportTest, NoMapReachesACancelledTransport) {
  ASSERT_TRUE(transport_->Start(&listener_, 1000).ok());
  off_.Cancel(absl::AbortedError("job failed"));
  EXPECT_EQ(off_.UseMap(v1::ShardMap()), absl::AbortedError("job failed"));
  EXPECT_TRUE(calls_.maps.empty());
}

TEST_F(CancellableTransportTest, SwitchMayBeUsedAfterTheTransport) {
  ASSERT_TRUE(transport_->Start(&listener_, 1000).ok());
  transport_.reset();
  off_.Cancel(absl::AbortedError("job failed"));
  EXPECT_TRUE(listener_.failures.empty());
  EXPECT_EQ(off_.status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace selari
