#include "cli/bench/raw_protocol.h"

#include <sys/socket.h>

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

// The two ends of a connection.
struct Ends {
  Socket client;
  Socket server;
};

Ends Connected() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {Socket(fds[0], "the peer"), Socket(fds[1], "the client")};
}

RawRequest OpenRequest() {
  RawRequest request;
  request.op = RawOp::kOpen;
  request.shape.floats = 12345;
  request.shape.workers = 3;
  request.shape.shards = 5;
  request.shape.optimizer = WireOptimizer::kAdam;
  return request;
}

absl::Status SentAndReceived(const RawRequest& request) {
  Ends ends = Connected();
  EXPECT_TRUE(SendRawRequest(&ends.client, request).ok());
  return ReceiveRawRequest(&ends.server).status();
}

TEST(RawProtocolTest, RequestsArriveAsTheyWereSent) {
  Ends ends = Connected();
  RawRequest request = OpenRequest();
  ASSERT_TRUE(SendRawRequest(&ends.client, request).ok());
  request.op = RawOp::kBoth;
  request.step = 7;
  request.manner = {4096, true};
  ASSERT_TRUE(SendRawRequest(&ends.client, request).ok());

  const auto open = ReceiveRawRequest(&ends.server);
  const auto both = ReceiveRawRequest(&ends.server);

  ASSERT_TRUE(open.ok()) << open.status();
  EXPECT_EQ(open->shape.floats, 12345);
  EXPECT_EQ(open->shape.workers, 3);
  EXPECT_EQ(open->shape.shards, 5);
  EXPECT_EQ(open->shape.optimizer, WireOptimizer::kAdam);
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->op, RawOp::kBoth);
  EXPECT_EQ(both->step, 7);
  EXPECT_EQ(both->manner.block_bytes, 4096);
  EXPECT_TRUE(both->manner.own_sender);
}

TEST(RawProtocolTest, RepliesCarryErrors) {
  Ends ends = Connected();
  RawReply reply;
  reply.token = 99;
  reply.rss_peak_bytes = 5;
  reply.rss_shared_bytes = 3;
  ASSERT_TRUE(SendRawReply(&ends.server, absl::OkStatus(), reply).ok());
  ASSERT_TRUE(
      SendRawReply(&ends.server, absl::UnavailableError("busy"), {}).ok());

  const auto good = ReceiveRawReply(&ends.client);
  const auto bad = ReceiveRawReply(&ends.client);

  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->token, 99);
  EXPECT_EQ(good->rss_peak_bytes, 5);
  EXPECT_EQ(good->rss_shared_bytes, 3);
  EXPECT_EQ(bad.status(), absl::UnavailableError("the peer: busy"));
}

TEST(RawProtocolTest, AnotherProtocolIsRefused) {
  Ends ends = Connected();
  const std::string http = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_TRUE(
      ends.client.Send(http.data(), static_cast<int64_t>(http.size())).ok());
  const absl::Status status = ReceiveRawRequest(&ends.server).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("does not speak"));
}

TEST(RawProtocolTest, StreamThatEndsInAFrameIsAnError) {
  Ends ends = Connected();
  ASSERT_TRUE(SendRawRequest(&ends.client, OpenRequest()).ok());
  char frame[64];
  ASSERT_TRUE(ends.server.Receive(frame, sizeof(frame)).ok());
  ASSERT_TRUE(ends.client.Send(frame, 40).ok());
  ends.client.Shutdown();
  const absl::Status status = ReceiveRawRequest(&ends.server).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("closed"));
}

TEST(RawProtocolTest, SilentPeerIsNotWaitedForEver) {
  Ends ends = Connected();
  ends.server.SetStallLimit(10);
  const absl::Status status = ReceiveRawRequest(&ends.server).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST(RawProtocolTest, ImpossibleFieldsAreRefused) {
  EXPECT_TRUE(SentAndReceived(OpenRequest()).ok());
  RawRequest request = OpenRequest();
  request.shape.floats = 0;
  EXPECT_EQ(SentAndReceived(request).code(),
            absl::StatusCode::kInvalidArgument);
  request.shape.floats = kRawFloatsMax + 1;
  EXPECT_THAT(std::string(SentAndReceived(request).message()),
              HasSubstr("floats 17179869185"));
  request = OpenRequest();
  request.shape.workers = 0;
  EXPECT_FALSE(SentAndReceived(request).ok());
  request = OpenRequest();
  request.shape.optimizer = static_cast<WireOptimizer>(7);
  EXPECT_FALSE(SentAndReceived(request).ok());
  request = OpenRequest();
  request.op = RawOp::kPush;
  EXPECT_FALSE(SentAndReceived(request).ok()) << "step 0";
  request.step = 1;
  EXPECT_TRUE(SentAndReceived(request).ok());
  request.manner.block_bytes = 4097;
  EXPECT_FALSE(SentAndReceived(request).ok());
  request.op = static_cast<RawOp>(9);
  EXPECT_FALSE(SentAndReceived(request).ok());
}

}  // namespace
}  // namespace selari
