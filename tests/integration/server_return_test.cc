// A client of a job of DURABILITY_JOURNALED while a server restarts and comes
// back as it was, against servers with fake shards.

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/chunk_layout.h"
#include "common/error_reason.h"
#include "common/float_buffer.h"
#include "common/job_layout.h"
#include "common/mutex.h"
#include "common/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "selari/v1/job.pb.h"
#include "server/rpc/fake_shard_host.h"
#include "server/shard/shard_job.h"
#include "tests/integration/fake_cluster.h"
#include "worker/client/grpc_transport.h"
#include "worker/client/parameter_client.h"
#include "worker/client/parameter_client_impl.h"
#include "worker/client/shard_transport.h"

namespace selari {
namespace {

using ::testing::HasSubstr;

using Tensors = std::vector<std::pair<std::string, int64_t>>;

// Three chunks in each of the two shards.
constexpr int64_t kSize = 300000;
constexpr int64_t kPushes = 3;  // for a gradient, to one shard

const Tensors& TestTensors() {
  static const auto* const tensors = new Tensors{{"a", kSize}};
  return *tensors;
}

v1::ResolvedJob JournaledJob() {
  v1::ResolvedJob job = FakeJob(TestTensors(), 2);
  job.mutable_job()->mutable_checkpointing()->set_durability(
      v1::DURABILITY_JOURNALED);
  return job;
}

std::unique_ptr<FakeServer> NewServer(
    int32_t shard, uint64_t incarnation,
    const std::string& address = "127.0.0.1:0") {
  return std::make_unique<FakeServer>(
      TestTensors(), std::vector<int32_t>{shard}, incarnation, address);
}

// What people are told, to be waited for.
class Sentences {
 public:
  void Add(const std::string& sentence) {
    MutexLock lock(&mu_);
    sentences_.push_back(sentence);
    changed_.NotifyAll();
  }
  void Clear() {
    MutexLock lock(&mu_);
    sentences_.clear();
  }
  // The first one with `part` in it. Not while another thread calls Clear.
  std::string WaitFor(const std::string& part) {
    MutexLock lock(&mu_);
    size_t next = 0;
    while (true) {
      for (; next < sentences_.size(); ++next) {
        if (sentences_[next].find(part) != std::string::npos) {
          return sentences_[next];
        }
      }
      changed_.Wait(&mu_);
    }
  }

 private:
  Mutex mu_;
  CondVar changed_;
  std::vector<std::string> sentences_ ABSL_GUARDED_BY(mu_);
};

class ServerReturnTest : public ::testing::Test {
 protected:
  ServerReturnTest() {
    options_.waiting_first_ms = 1;
    options_.waiting_interval_ms = 1;
    options_.on_waiting = [this](const std::string& sentence) {
      told_.Add(sentence);
    };
    servers_.push_back(NewServer(0, 100));
    servers_.push_back(NewServer(1, 101));
  }
  // Before what its transport tells and the servers.
  ~ServerReturnTest() override { client_ = nullptr; }

  v1::ShardMap Map(int64_t version) {
    v1::ShardMap map = MapOf({servers_[0].get(), servers_[1].get()}, {0, 1});
    map.set_version(version);
    return map;
  }

  absl::Status Connect(const v1::ShardMap& map) {
    auto transport = MakeGrpcTransport(JournaledJob(), map, {0, 5}, options_);
    if (!transport.ok()) {
      return transport.status();
    }
    transport_ = transport->get();
    auto client =
        ConnectParameterClient(JournaledJob(), *std::move(transport), {});
    if (!client.ok()) {
      return client.status();
    }
    client_ = *std::move(client);
    told_.Clear();  // nothing is told while all servers are there
    return absl::OkStatus();
  }

  absl::Status Push(int64_t step) {
    std::shared_ptr<FloatBuffer> gradient = client_->NewBuffer(kSize);
    std::fill_n(gradient->data(), kSize, 1.0f);
    return client_->Push(step, {}, 0, gradient);
  }

  // Server 1 dies and another life of it has what it had.
  void Restart(uint64_t incarnation, const std::string& address) {
    servers_[1]->Kill();
    auto next = NewServer(1, incarnation, address);
    next->host()->RecoverFrom(*servers_[1]->host());
    servers_[1] = std::move(next);
  }

  void ExpectWeights(int64_t version, float value) {
    client_->RequestPulls(0, 1, version);
    const auto weights = client_->WaitForTensor(0);
    ASSERT_TRUE(weights.ok()) << weights.status();
    EXPECT_EQ(std::count(weights->begin(), weights->end(), value), kSize);
  }

  Sentences told_;
  GrpcTransportOptions options_;
  std::vector<std::unique_ptr<FakeServer>> servers_;
  std::unique_ptr<ParameterClient> client_;
  ShardTransport* transport_ = nullptr;  // the client's
};

TEST_F(ServerReturnTest, LinkThatIsUpMoves) {
  ASSERT_TRUE(Connect(Map(1)).ok());
  EXPECT_FALSE(transport_->SomeServerIsAway());
  const std::unique_ptr<FakeServer> old = std::move(servers_[1]);
  servers_[1] = NewServer(1, 102);

  ASSERT_TRUE(transport_->UseMap(Map(2)).ok());

  ASSERT_TRUE(Push(0).ok());
  ASSERT_TRUE(client_->Flush().ok());
  EXPECT_EQ(servers_[1]->host()->applied_count(), kPushes);
  EXPECT_EQ(old->host()->request_count(), 0);
  ExpectWeights(1, -1);
}

TEST_F(ServerReturnTest, LinkThatIsDownMoves) {
  ASSERT_TRUE(Connect(Map(1)).ok());
  const std::string address = servers_[1]->address();
  Restart(102, "127.0.0.1:0");
  told_.WaitFor("server 1 at " + address);
  EXPECT_TRUE(transport_->SomeServerIsAway());

  ASSERT_TRUE(transport_->UseMap(Map(2)).ok());

  ASSERT_TRUE(Push(0).ok());
  ASSERT_TRUE(client_->Flush().ok());
  EXPECT_FALSE(transport_->SomeServerIsAway());
  ExpectWeights(1, -1);
}

TEST_F(ServerReturnTest, LinkThatConnectsMoves) {
  v1::ShardMap nobody = Map(1);
  nobody.mutable_servers(1)->set_address("127.0.0.1:1");
  std::thread mover([&] {
    told_.WaitFor("server 1 at 127.0.0.1:1 does not answer");
    EXPECT_TRUE(transport_->UseMap(Map(2)).ok());
  });
  const absl::Status status = Connect(nobody);
  mover.join();
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(Push(0).ok());
  EXPECT_TRUE(client_->Flush().ok());
}

TEST_F(ServerReturnTest, MapBeforeTheStartIsUsed) {
  v1::ShardMap nobody = Map(1);
  nobody.mutable_servers(1)->set_address("127.0.0.1:1");
  auto transport = MakeGrpcTransport(JournaledJob(), nobody, {0, 5}, options_);
  ASSERT_TRUE(transport.ok());
  EXPECT_FALSE((*transport)->SomeServerIsAway());
  ASSERT_TRUE((*transport)->UseMap(Map(2)).ok());
  EXPECT_TRUE(
      ConnectParameterClient(JournaledJob(), *std::move(transport), {}).ok());
}

// Asks each shard for its first chunk at every connection; the first one to
// shard 1 takes until `go`.
class SlowListener : public ShardTransport::Listener {
 public:
  void OnReplies(std::vector<ShardReply> replies) override {
    for (const ShardReply& reply : replies) {
      const auto& value = std::get<ChunkValue>(reply);
      if (value.chunk == FirstChunk(1)) {
        answered.Notify();
      }
    }
  }
  std::vector<ShardRequest> OnConnected(
      const std::vector<int32_t>& shards) override {
    if (shards[0] == 1 && first_) {
      first_ = false;
      asked.Notify();
      go.Wait();
    }
    return {ChunkPull{FirstChunk(shards[0]), 0, 0, {}}};
  }
  void OnFailed(const absl::Status& status) override {
    ADD_FAILURE() << status;
  }

  static int32_t FirstChunk(int32_t shard) {
    static const auto* const layout =
        new ChunkLayout(*MakeChunkLayout(JournaledJob()));
    return layout->ChunksOfShard(shard).front().chunk;
  }

  Notification asked;
  Notification go;
  Notification answered;

 private:
  bool first_ = true;  // one call at a time for shard 1
};

TEST_F(ServerReturnTest, LinkThatResendsMoves) {
  SlowListener listener;
  auto transport = MakeGrpcTransport(JournaledJob(), Map(1), {0, 5}, options_);
  ASSERT_TRUE(transport.ok());
  std::thread starter(
      [&] { EXPECT_TRUE((*transport)->Start(&listener, 60'000).ok()); });
  listener.asked.Wait();
  const std::unique_ptr<FakeServer> old = std::move(servers_[1]);
  servers_[1] = NewServer(1, 102);

  EXPECT_TRUE((*transport)->UseMap(Map(2)).ok());
  listener.go.Notify();

  starter.join();
  listener.answered.Wait();
  (*transport)->Stop();
  EXPECT_EQ(old->host()->request_count(), 0);
  EXPECT_EQ(servers_[1]->host()->request_count(), 1);
}

// Whether the update reached the journal or not, the worker has not heard.
TEST_F(ServerReturnTest, PendingPushIsSentAgainOnce) {
  for (const bool journaled : {false, true}) {
    SCOPED_TRACE(journaled);
    servers_[0] = NewServer(0, 100);
    servers_[1] = NewServer(1, 101);
    ASSERT_TRUE(Connect(Map(1)).ok());
    servers_[1]->host()->HoldReplies();
    ASSERT_TRUE(Push(0).ok());
    servers_[1]->host()->WaitForRequests(kPushes);

    if (journaled) {
      Restart(102, "127.0.0.1:0");
    } else {
      servers_[1] = NewServer(1, 102);
    }
    ASSERT_TRUE(transport_->UseMap(Map(2)).ok());

    ASSERT_TRUE(client_->Flush().ok());
    EXPECT_EQ(servers_[1]->host()->request_count(), kPushes);
    EXPECT_EQ(servers_[1]->host()->applied_count(), journaled ? 0 : kPushes);
    ExpectWeights(1, -1);
    client_ = nullptr;
  }
}

TEST_F(ServerReturnTest, AcknowledgedPushIsNotSentAgain) {
  ASSERT_TRUE(Connect(Map(1)).ok());
  ASSERT_TRUE(Push(0).ok());
  ASSERT_TRUE(client_->Flush().ok());

  Restart(102, "127.0.0.1:0");
  ASSERT_TRUE(transport_->UseMap(Map(2)).ok());

  ASSERT_TRUE(Push(1).ok());
  ASSERT_TRUE(client_->Flush().ok());
  EXPECT_EQ(servers_[1]->host()->lowest_sequence(), kPushes + 1);
  EXPECT_EQ(servers_[1]->host()->applied_count(), kPushes);
  ExpectWeights(2, -2);
}

TEST_F(ServerReturnTest, WaitingPullIsAskedAgain) {
  ASSERT_TRUE(Connect(Map(1)).ok());
  client_->RequestPulls(0, 1, 1);
  servers_[1]->host()->WaitForRequests(kPushes);

  Restart(102, "127.0.0.1:0");
  ASSERT_TRUE(transport_->UseMap(Map(2)).ok());

  ASSERT_TRUE(Push(0).ok());
  const auto weights = client_->WaitForTensor(0);
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ((*weights)[kSize - 1], -1.0f);
}

TEST_F(ServerReturnTest, LifeThatNoMapNamesGetsNothing) {
  for (const bool hosts_its_shard : {true, false}) {
    SCOPED_TRACE(hosts_its_shard);
    servers_[0] = NewServer(0, 100);
    servers_[1] = NewServer(1, 101);
    ASSERT_TRUE(Connect(Map(1)).ok());
    const std::string address = servers_[1]->address();
    servers_[1] = nullptr;
    servers_[1] = std::make_unique<FakeServer>(
        TestTensors(),
        hosts_its_shard ? std::vector<int32_t>{1} : std::vector<int32_t>{}, 102,
        address);
    FakeShardHost* const host = servers_[1]->host();
    ASSERT_TRUE(Push(0).ok());

    const std::string sentence = told_.WaitFor(
        "server 1 at " + address +
        ": it restarted (its incarnation is 102, was 101) and is getting its "
        "weights back (missing for ");
    EXPECT_THAT(sentence, HasSubstr("; giving up in "));
    EXPECT_EQ(host->request_count(), 0);

    if (!hosts_its_shard) {
      ASSERT_TRUE(
          host->Initialize(*ShardJob::Create(JournaledJob()), {1}).ok());
    }
    ASSERT_TRUE(transport_->UseMap(Map(2)).ok());
    ASSERT_TRUE(client_->Flush().ok());
    EXPECT_EQ(host->applied_count(), kPushes);
    client_ = nullptr;
  }
}

TEST_F(ServerReturnTest, ServerOfAnotherJobAtTheAddressIsNotTheServer) {
  ASSERT_TRUE(Connect(Map(1)).ok());
  const std::string address = servers_[1]->address();
  servers_[1] = nullptr;
  FakeServer stranger(TestTensors(), {}, 300, address);
  v1::ResolvedJob other = JournaledJob();
  other.set_job_id("other");
  ASSERT_TRUE(
      stranger.host()->Initialize(*ShardJob::Create(other), {0, 1}).ok());
  told_.WaitFor("another server answers there: this server runs job other");

  servers_[1] = NewServer(1, 102);
  ASSERT_TRUE(transport_->UseMap(Map(2)).ok());

  ASSERT_TRUE(Push(0).ok());
  EXPECT_TRUE(client_->Flush().ok());
  EXPECT_EQ(stranger.host()->request_count(), 0);
}

TEST_F(ServerReturnTest, ServerThatNeverReturnsIsGivenUp) {
  options_.give_up_ms = 100;
  ASSERT_TRUE(Connect(Map(1)).ok());
  const std::string address = servers_[1]->address();
  servers_[1] = nullptr;
  servers_[1] = NewServer(1, 102, address);

  Push(0).IgnoreError();  // it may have given up before
  const absl::Status status = client_->Flush();

  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("server 1 at " + address));
  EXPECT_THAT(std::string(status.message()), HasSubstr("; gave up"));
}

TEST_F(ServerReturnTest, MapThatMovesShardsIsRefused) {
  ASSERT_TRUE(Connect(Map(1)).ok());
  v1::ShardMap swapped = Map(2);
  swapped.set_shard_owners(0, 1);
  swapped.set_shard_owners(1, 0);
  v1::ShardMap shorter = Map(2);
  shorter.mutable_shard_owners()->RemoveLast();
  v1::ShardMap without = Map(2);
  without.mutable_servers()->RemoveLast();
  for (const v1::ShardMap& map : {swapped, shorter, without}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(transport_->UseMap(map)));
  }
  ASSERT_TRUE(Push(0).ok());
  EXPECT_TRUE(client_->Flush().ok()) << "nothing has changed";
}

TEST_F(ServerReturnTest, MapThatIsNotNewerChangesNothing) {
  ASSERT_TRUE(Connect(Map(2)).ok());
  for (const int64_t version : {1, 2}) {
    v1::ShardMap other = Map(version);
    other.mutable_servers(1)->set_address("127.0.0.1:1");
    EXPECT_TRUE(transport_->UseMap(other).ok());
  }
  EXPECT_FALSE(transport_->SomeServerIsAway());
  ASSERT_TRUE(Push(0).ok());
  EXPECT_TRUE(client_->Flush().ok());
}

TEST_F(ServerReturnTest, WorkerThatWasReplacedStillEnds) {
  ASSERT_TRUE(Connect(Map(1)).ok());
  RequestError replaced;
  replaced.status = absl::FailedPreconditionError("worker 0 was replaced");
  replaced.reason = ErrorReason::kStaleIncarnation;
  servers_[1]->host()->RefuseNextPush(replaced);
  ASSERT_TRUE(Push(0).ok());
  EXPECT_EQ(ReasonOf(client_->Flush()), ErrorReason::kStaleIncarnation);
}

TEST_F(ServerReturnTest, ServerThatRestartsAllTheTimeLosesNothing) {
  ASSERT_TRUE(Connect(Map(1)).ok());
  constexpr int kSteps = 20;
  for (int step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(Push(step).ok());
    Restart(200 + step, "127.0.0.1:0");
    ASSERT_TRUE(transport_->UseMap(Map(2 + step)).ok());
    ExpectWeights(step + 1, static_cast<float>(-step - 1));
  }
  EXPECT_TRUE(client_->Flush().ok());
}

}  // namespace
}  // namespace selari
