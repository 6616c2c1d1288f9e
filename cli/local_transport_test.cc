#include "cli/local_transport.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "server/rpc/fake_shard_host.h"
#include "worker/client/parameter_client_impl.h"

namespace selari {
namespace {

using Tensors = std::vector<std::pair<std::string, int64_t>>;

const Tensors& TestTensors() {
  static const auto* const tensors = new Tensors{{"a", 32}, {"b", 16}};
  return *tensors;
}

std::shared_ptr<const FloatBuffer> Gradient(int64_t size, float value) {
  auto buffer = FloatBuffer::Allocate(size);
  std::fill_n(buffer->data(), size, value);
  return buffer;
}

absl::StatusOr<std::unique_ptr<ParameterClient>> Connect(ShardHost* host) {
  return ConnectParameterClient(FakeJob(TestTensors(), 2),
                                MakeLocalTransport(host, {0, 5}), {});
}

TEST(LocalTransportTest, PushesAndPullsWithoutAWire) {
  FakeShardHost host(TestTensors(), {0, 1});
  auto client = Connect(&host);
  ASSERT_TRUE(client.ok()) << client.status();

  ASSERT_TRUE((*client)->Push(0, {}, 0, Gradient(32, 2)).ok());
  (*client)->RequestPull(0, 1);
  const auto weights = (*client)->WaitForTensor(0);

  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ((*weights)[31], -2.0f);
  EXPECT_TRUE((*client)->Flush().ok());
  EXPECT_EQ((*client)->Stats().bytes_pushed, 0);
}

TEST(LocalTransportTest, RefusedPushIsSentAgain) {
  FakeShardHost host(TestTensors(), {0, 1});
  auto client = Connect(&host);
  ASSERT_TRUE(client.ok()) << client.status();
  RequestError full;
  full.status = absl::ResourceExhaustedError("full");
  full.reason = ErrorReason::kQueueFull;
  full.retry_after_ms = 1;
  host.RefuseNextPush(full);

  ASSERT_TRUE((*client)->Push(0, {}, 0, Gradient(32, 2)).ok());

  EXPECT_TRUE((*client)->Flush().ok());
  EXPECT_EQ(host.applied_count(), 2);
}

TEST(LocalTransportTest, HostWithoutAllShardsIsRefused) {
  FakeShardHost empty(TestTensors(), {});
  FakeShardHost half(TestTensors(), {1});
  EXPECT_EQ(Connect(&empty).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Connect(&half).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace selari
