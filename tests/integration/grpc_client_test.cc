// The parameter client over GrpcTransport against servers with fake shards.

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/error_reason.h"
#include "common/float_buffer.h"
#include "common/mutex.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/fake_cluster.h"
#include "worker/client/grpc_transport.h"
#include "worker/client/parameter_client_impl.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

using Tensors = std::vector<std::pair<std::string, int64_t>>;

// "a": 300,000 elements in several chunks of both shards; "b": 16.
const Tensors& TestTensors() {
  static const auto* const tensors = new Tensors{{"a", 300000}, {"b", 16}};
  return *tensors;
}

// With and without shared memory between client and servers.
class GrpcClientTest : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr int64_t kSizeA = 300000;

  absl::Status Connect(const v1::ShardMap& map,
                       const WorkerIdentity& worker = {0, 5}) {
    auto transport =
        MakeGrpcTransport(FakeJob(TestTensors(), 2), map, worker, options_);
    if (!transport.ok()) {
      return transport.status();
    }
    ParameterClientOptions options;
    options.connect_timeout_ms = connect_timeout_ms_;
    auto client = ConnectParameterClient(FakeJob(TestTensors(), 2),
                                         *std::move(transport), options);
    if (!client.ok()) {
      return client.status();
    }
    client_ = *std::move(client);
    return absl::OkStatus();
  }

  // Starts two servers, shard i on server i, and connects.
  void ConnectToTwo() {
    servers_.push_back(std::make_unique<FakeServer>(
        TestTensors(), std::vector<int32_t>{0}, 100));
    servers_.push_back(std::make_unique<FakeServer>(
        TestTensors(), std::vector<int32_t>{1}, 101));
    const absl::Status status =
        Connect(MapOf({servers_[0].get(), servers_[1].get()}, {0, 1}));
    ASSERT_TRUE(status.ok()) << status;
  }

  std::shared_ptr<const FloatBuffer> Gradient(int64_t size, float value) {
    std::shared_ptr<FloatBuffer> gradient = client_->NewBuffer(size);
    std::fill_n(gradient->data(), size, value);
    return gradient;
  }

  void ExpectWeightsOfA(int64_t version, float value) {
    client_->RequestPull(0, version);
    const auto weights = client_->WaitForTensor(0);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(std::count(weights->begin(), weights->end(), value), kSizeA);
  }

  int64_t connect_timeout_ms_ = 60000;
  GrpcTransportOptions options_ = [] {
    GrpcTransportOptions options;
    options.offer_shared_memory = GetParam();
    return options;
  }();
  std::vector<std::unique_ptr<FakeServer>> servers_;
  std::unique_ptr<ParameterClient> client_;
};

TEST_P(GrpcClientTest, PushesAndPullsOverTwoServers) {
  ConnectToTwo();

  ASSERT_TRUE(client_->Push(0, {}, 0, Gradient(kSizeA, 2)).ok());
  ASSERT_TRUE(client_->Push(0, {}, 1, Gradient(16, 3)).ok());
  ExpectWeightsOfA(1, -2);
  ASSERT_TRUE(client_->Flush().ok());

  EXPECT_EQ(servers_[0]->host()->weight(0, 0), -2.0f);
  EXPECT_GT(client_->Stats().bytes_pushed, kSizeA * 4);
  EXPECT_LT(client_->Stats().bytes_pushed, kSizeA * 4 + 4000);
  EXPECT_GT(client_->Stats().bytes_pulled, kSizeA * 4);
  EXPECT_EQ(client_->Stats().bytes_shared, GetParam() ? 2 * kSizeA * 4 : 0);
}

TEST_P(GrpcClientTest, WrongGradientSizeIsRefused) {
  ConnectToTwo();
  EXPECT_EQ(client_->Push(0, {}, 1, Gradient(15, 3)).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(GrpcClientTest, PushesWithoutAnswerAreSentAgainAndAppliedOnce) {
  ConnectToTwo();
  FakeShardHost* host = servers_[0]->host();
  host->HoldReplies();  // acknowledgements get lost
  ASSERT_TRUE(client_->Push(0, {}, 0, Gradient(kSizeA, 2)).ok());
  host->WaitForRequests(3);

  servers_[0]->service()->BreakCallsForTest();
  host->ReleaseReplies();

  ASSERT_TRUE(client_->Flush().ok());
  ExpectWeightsOfA(1, -2);
  EXPECT_EQ(host->applied_count(), 3);
}

TEST_P(GrpcClientTest, WaitingPullSurvivesABrokenStream) {
  ConnectToTwo();
  client_->RequestPull(0, 1);
  servers_[0]->host()->WaitForRequests(3);
  servers_[0]->service()->BreakCallsForTest();
  servers_[1]->service()->BreakCallsForTest();

  ASSERT_TRUE(client_->Push(0, {}, 0, Gradient(kSizeA, 2)).ok());

  const auto weights = client_->WaitForTensor(0);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ((*weights)[kSizeA - 1], -2.0f);
}

TEST_P(GrpcClientTest, StreamsThatBreakAllTheTimeLoseNothing) {
  ConnectToTwo();
  constexpr int kSteps = 50;
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(client_->Push(step, {}, 0, Gradient(kSizeA, 1)).ok());
    servers_[step % 2]->service()->BreakCallsForTest();
    ExpectWeightsOfA(step + 1, static_cast<float>(-step - 1));
  }
  ASSERT_TRUE(client_->Flush().ok());
  EXPECT_EQ(servers_[0]->host()->applied_count() +
                servers_[1]->host()->applied_count(),
            kSteps * 6);
}

TEST_P(GrpcClientTest, FullQueueIsRetried) {
  ConnectToTwo();
  RequestError full;
  full.status = absl::ResourceExhaustedError("full");
  full.reason = ErrorReason::kQueueFull;
  full.retry_after_ms = 3;
  servers_[0]->host()->RefuseNextPush(full);

  ASSERT_TRUE(client_->Push(0, {}, 0, Gradient(kSizeA, 2)).ok());

  ASSERT_TRUE(client_->Flush().ok());
  EXPECT_EQ(servers_[0]->host()->applied_count(), 3);
}

TEST_P(GrpcClientTest, RefusedPushIsReturnedByTheNextCall) {
  ConnectToTwo();
  RequestError bad;
  bad.status = absl::InvalidArgumentError("element 3 is NaN");
  bad.reason = ErrorReason::kNotFinite;
  servers_[0]->host()->RefuseNextPush(bad);

  ASSERT_TRUE(client_->Push(7, {}, 0, Gradient(kSizeA, 2)).ok());
  const absl::Status status = client_->Flush();

  EXPECT_EQ(status.message(),
            "shard 0, tensor \"a\", push of step 7: element 3 is NaN");
  EXPECT_EQ(ReasonOf(status), ErrorReason::kNotFinite);
  EXPECT_EQ(client_->Push(8, {}, 1, Gradient(16, 2)), status);
}

TEST_P(GrpcClientTest, StoppedJobIsRecognised) {
  ConnectToTwo();
  RequestError stopped;
  stopped.status = absl::FailedPreconditionError("at step 7");
  stopped.reason = ErrorReason::kJobStopped;
  servers_[1]->host()->RefuseNextPush(stopped);

  ASSERT_TRUE(client_->Push(7, {}, 0, Gradient(kSizeA, 2)).ok());

  EXPECT_TRUE(IsJobStopped(client_->Flush()));
}

TEST_P(GrpcClientTest, OtherJobIsRefusedAtOnce) {
  FakeServer server(TestTensors(), {0, 1}, 100);
  v1::ResolvedJob other = FakeJob(TestTensors(), 2);
  other.set_job_id("other");
  auto transport =
      MakeGrpcTransport(other, MapOf({&server}, {0, 0}), {0, 5}, options_);
  ASSERT_TRUE(transport.ok());

  const auto client = ConnectParameterClient(other, *std::move(transport), {});

  EXPECT_EQ(ReasonOf(client.status()), ErrorReason::kWrongJob);
  EXPECT_THAT(std::string(client.status().message()),
              HasSubstr(server.address()));
}

TEST_P(GrpcClientTest, WorkerOutOfRangeIsRefusedAtOnce) {
  FakeServer server(TestTensors(), {0, 1}, 100);
  EXPECT_EQ(Connect(MapOf({&server}, {0, 0}), {2, 5}).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(GrpcClientTest, MissingServerIsNamedWhileWaitingAndAtTheEnd) {
  FakeServer there(TestTensors(), {0}, 100);
  v1::ShardMap map = MapOf({&there}, {0, 1});
  v1::ServerEntry* missing = map.add_servers();
  missing->set_server_id(1);
  missing->set_address("127.0.0.1:1");
  Mutex mu;
  std::vector<std::string> told;
  options_.waiting_first_ms = 1;
  options_.on_waiting = [&](const std::string& sentence) {
    MutexLock lock(&mu);
    told.push_back(sentence);
  };
  connect_timeout_ms_ = 200;

  const absl::Status status = Connect(map);

  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("server 1 at 127.0.0.1:1 does not answer"));
  MutexLock lock(&mu);
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told[0], HasSubstr("server 1 at 127.0.0.1:1"));
  EXPECT_THAT(told[0], HasSubstr("giving up in"));
}

TEST_P(GrpcClientTest, NameThatDoesNotResolveIsWaitedFor) {
  v1::ShardMap map;
  map.add_servers()->set_address("no-such-host.invalid:1");
  map.add_shard_owners(0);
  map.add_shard_owners(0);
  connect_timeout_ms_ = 200;

  const absl::Status status = Connect(map);

  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no-such-host.invalid"));
}

TEST_P(GrpcClientTest, ServerThatStartsLateIsFound) {
  // A port that was free a moment ago.
  std::string address;
  {
    FakeServer probe(TestTensors(), {0, 1}, 100);
    address = probe.address();
  }
  v1::ShardMap map;
  map.add_servers()->set_address(address);
  map.add_shard_owners(0);
  map.add_shard_owners(0);
  absl::Status status;
  std::thread connecting([&] { status = Connect(map); });

  FakeServer server(TestTensors(), {0, 1}, 100, address);
  connecting.join();

  EXPECT_TRUE(status.ok()) << status;
  client_ = nullptr;
}

TEST_P(GrpcClientTest, ServerThatStaysAwayEndsTheClient) {
  options_.give_up_ms = 100;
  ConnectToTwo();

  servers_[1] = nullptr;
  client_->RequestPull(0, 0);
  const auto weights = client_->WaitForTensor(0);

  EXPECT_EQ(weights.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(weights.status().message()),
              HasSubstr("server 1 at 127.0.0.1:"));
}

TEST_P(GrpcClientTest, RestartedServerIsNeverTrusted) {
  for (const std::vector<int32_t>& shards :
       {std::vector<int32_t>{1}, std::vector<int32_t>{}}) {
    servers_.clear();
    ConnectToTwo();
    const std::string address = servers_[1]->address();

    servers_[1] = nullptr;
    servers_[1] =
        std::make_unique<FakeServer>(TestTensors(), shards, 102, address);
    client_->RequestPull(0, 1);
    const auto weights = client_->WaitForTensor(0);

    EXPECT_EQ(weights.status().code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(weights.status().message()),
                HasSubstr("restarted (its incarnation is 102, was 101)"));
    client_ = nullptr;
  }
}

TEST_P(GrpcClientTest, MapThatDoesNotFitTheJobIsRefused) {
  FakeServer server(TestTensors(), {0, 1}, 100);
  EXPECT_EQ(Connect(MapOf({&server}, {0})).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Connect(MapOf({&server}, {0, 7})).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_P(GrpcClientTest, DestroyingTheClientNeedsNoAnswer) {
  ConnectToTwo();
  servers_[0]->host()->HoldReplies();
  client_->RequestPull(0, 0);
  ASSERT_TRUE(client_->Push(0, {}, 0, Gradient(kSizeA, 2)).ok());
  client_ = nullptr;
}

INSTANTIATE_TEST_SUITE_P(Shared, GrpcClientTest, ::testing::Bool());

}  // namespace
}  // namespace selari
