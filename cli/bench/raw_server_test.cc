// The yardstick itself: it must do the whole work, or the ratios lie.

#include "cli/bench/raw_server.h"

#include <sys/socket.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/bench/expected_weights.h"
#include "cli/bench/raw_client.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

class RawServerTest : public ::testing::Test {
 protected:
  void Start(int32_t workers, WireOptimizer optimizer) {
    // Several blocks, the last one short.
    shape_.floats = 300001;
    shape_.workers = workers;
    shape_.optimizer = optimizer;
    auto job = ShardJob::Create(MakeWireJob(shape_, DetectIsaLevel()));
    ASSERT_TRUE(job.ok()) << job.status();
    job_ = *job;
    server_ = std::make_unique<RawServer>(shape_, job_);
    for (int32_t worker = 0; worker < workers; ++worker) {
      Socket end = Joined(worker);
      clients_.push_back(std::make_unique<RawClient>(
          std::move(end), MakeWireGradient(shape_, worker)));
    }
  }

  Socket Joined(int32_t worker) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    Socket client(fds[0], "the server");
    joined_ = server_->Join(worker, Socket(fds[1], "the client"));
    const auto told = ReceiveRawReply(&client);
    EXPECT_EQ(told.status().code(), joined_.code());
    return client;
  }

  // All workers at once; each must succeed.
  template <class Call>
  void All(const Call& call) {
    std::vector<std::thread> threads;
    std::vector<absl::Status> statuses(clients_.size());
    for (size_t i = 0; i < clients_.size(); ++i) {
      threads.emplace_back([&, i] { statuses[i] = call(clients_[i].get()); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (const absl::Status& status : statuses) {
      EXPECT_TRUE(status.ok()) << status;
    }
  }

  void ExpectVersion(int64_t version) {
    const ExpectedWeights expected(shape_, job_);
    for (const auto& client : clients_) {
      const absl::Status status = expected.Check(client->weights(), 0, version);
      EXPECT_TRUE(status.ok()) << status;
    }
  }

  WireShape shape_;
  std::shared_ptr<const ShardJob> job_;
  absl::Status joined_;
  std::unique_ptr<RawServer> server_;
  std::vector<std::unique_ptr<RawClient>> clients_;
};

class RawServerWorkersTest : public RawServerTest,
                             public ::testing::WithParamInterface<int32_t> {};

TEST_P(RawServerWorkersTest, EveryWayGivesTheBitsOfTheOptimizer) {
  Start(GetParam(), WireOptimizer::kAdam);
  const RawManner small = {4096, false};
  const RawManner sender = {256 << 10, true};
  All([&](RawClient* client) { return client->Push(1, small); });
  All([](RawClient* client) { return client->Pull(); });
  ExpectVersion(1);
  All([&](RawClient* client) { return client->Both(2, small); });
  ExpectVersion(2);
  All([&](RawClient* client) { return client->Both(3, sender); });
  ExpectVersion(3);
  All([](RawClient* client) { return client->Reset(); });
  All([&](RawClient* client) { return client->Push(1, sender); });
  All([](RawClient* client) { return client->Pull(); });
  ExpectVersion(1);
}

INSTANTIATE_TEST_SUITE_P(Workers, RawServerWorkersTest,
                         ::testing::Values(1, 2, 3));

TEST_F(RawServerTest, LostWorkerEndsTheOthers) {
  Start(2, WireOptimizer::kSgd);
  absl::Status status;
  std::thread waiting([&] { status = clients_[0]->Push(1, {}); });
  clients_[1] = nullptr;
  waiting.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
}

TEST_F(RawServerTest, WorkerOutOfRangeOrTwiceIsRefused) {
  Start(1, WireOptimizer::kSgd);
  Joined(1);
  EXPECT_EQ(joined_.code(), absl::StatusCode::kInvalidArgument);
  Joined(0);
  EXPECT_EQ(joined_.code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(RawServerTest, EndingTheServerEndsItsClients) {
  Start(1, WireOptimizer::kSgd);
  server_ = nullptr;
  EXPECT_FALSE(clients_[0]->Pull().ok());
}

}  // namespace
}  // namespace selari
