// The whole of `selari bench wire` between two threads, with a small model; it
// times nothing.

#include "cli/bench/wire_benchmark.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cli/bench/raw_protocol.h"
#include "cli/bench/wire_peer.h"
#include "cli/bench/wire_session.h"
#include "common/stop_token.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

class WireBenchmarkTest : public ::testing::Test {
 protected:
  WireBenchmarkTest() {
    auto peer = WirePeer::Start("127.0.0.1:0", [](absl::string_view) {});
    EXPECT_TRUE(peer.ok()) << peer.status();
    peer_ = *std::move(peer);
    thread_ = std::thread([this] { peer_->Run(stop_); });
    options_.shape.floats = 300001;
    options_.repeats = 1;
    options_.steps = 3;
  }
  ~WireBenchmarkTest() override { StopPeer(); }

  void StopPeer() {
    stop_.RequestStop();
    if (thread_.joinable()) {
      thread_.join();
    }
    peer_ = nullptr;
  }

  WireOptions options_;
  StopToken stop_;
  std::unique_ptr<WirePeer> peer_;
  std::thread thread_;
};

TEST_F(WireBenchmarkTest, EveryWayMovesAndComparesAllWeights) {
  const auto report = MeasureWire(options_, peer_->address(), nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  ASSERT_EQ(report->kinds.size(), 3u);
  for (const WireKindResult& kind : report->kinds) {
    EXPECT_GT(kind.selari.median, 0);
    EXPECT_GT(kind.raw.median, 0);
    EXPECT_GT(kind.grpc.median, 0);
    EXPECT_GT(kind.ratio.median, 0);
  }
  // Selari 2 times before the rounds; in each of two rounds 2 of Selari, 2
  // pulls and 4 exchanges of raw TCP.
  EXPECT_EQ(report->checks, 2 + 2 * 8);
  EXPECT_EQ(report->checked_bytes, report->checks * options_.shape.bytes());
  EXPECT_EQ(report->latency.steps, 3);
  EXPECT_GT(report->latency.selari.p99_us, 0);
  EXPECT_GT(report->memory.server.rss_bytes, 0);
  EXPECT_TRUE(report->shares_memory);
}

TEST_F(WireBenchmarkTest, MessagesOnly) {
  options_.transport.share_memory = false;
  options_.steps = 0;
  const auto report = MeasureWire(options_, peer_->address(), nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_FALSE(report->shares_memory);
}

TEST_F(WireBenchmarkTest, TwoWorkersWithAdam) {
  options_.shape.workers = 2;
  options_.shape.optimizer = WireOptimizer::kAdam;
  options_.steps = 0;
  const auto report = MeasureWire(options_, peer_->address(), nullptr);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->checked_bytes, report->checks * 2 * options_.shape.bytes());
  EXPECT_EQ(report->memory.server_slots_bytes, 2 * options_.shape.bytes());
}

TEST_F(WireBenchmarkTest, SecondClientIsToldToWait) {
  const auto first = WireSession::Open(peer_->address(), options_.shape);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = WireSession::Open(peer_->address(), options_.shape);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("busy"));
  EXPECT_TRUE((*first)->Close().ok());
  EXPECT_TRUE(WireSession::Open(peer_->address(), options_.shape).ok());
}

TEST_F(WireBenchmarkTest, ClientThatGoesAwayFreesThePeer) {
  { const auto gone = WireSession::Open(peer_->address(), options_.shape); }
  absl::Status status = absl::FailedPreconditionError("");
  for (int i = 0; i < 100 && absl::IsFailedPrecondition(status); ++i) {
    status = WireSession::Open(peer_->address(), options_.shape).status();
  }
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(WireBenchmarkTest, LostPeerEndsWorkersOfAllWays) {
  const auto session = WireSession::Open(peer_->address(), options_.shape);
  ASSERT_TRUE(session.ok()) << session.status();
  auto selari = MakeSelariWay(session->get());
  auto raw = MakeRawWays(session->get(), {MakeWireGradient(options_.shape, 0)});
  const auto grpc = MakeGrpcWay(session->get());
  ASSERT_TRUE(selari.ok() && raw.ok());
  StopPeer();
  for (const WireKind kind : kWireKinds) {
    EXPECT_FALSE((*selari)->Run(kind).ok());
    EXPECT_FALSE((*raw)[0]->Run(kind).ok());
    EXPECT_FALSE(grpc->Run(kind).ok());
  }
}

TEST_F(WireBenchmarkTest, AddressThatDoesNotAnswerIsNamed) {
  const std::string address = peer_->address();
  StopPeer();
  const absl::Status status = MeasureWire(options_, address, nullptr).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(address));
}

TEST_F(WireBenchmarkTest, AnotherServerIsToldFromAPeer) {
  auto listener = Listener::Listen("127.0.0.1:0");
  ASSERT_TRUE(listener.ok()) << listener.status();
  std::thread server([&] {
    auto socket = listener->Accept();
    ASSERT_TRUE(socket.ok());
    ASSERT_TRUE(socket->Send("220 mail.example ready\r\n", 24).ok());
    socket->WaitReadable(10000);
  });
  const absl::Status status =
      MeasureWire(options_, absl::StrCat("127.0.0.1:", listener->port()),
                  nullptr)
          .status();
  server.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not speak"));
}

TEST_F(WireBenchmarkTest, PortInUseIsRefused) {
  const auto second = WirePeer::Start(peer_->address(), nullptr);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()),
              HasSubstr(peer_->address()));
}

}  // namespace
}  // namespace selari
