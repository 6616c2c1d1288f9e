// The first promise, below the level of models: however many workers and
// servers train, through whatever transport, the weights are equal to the bit.

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/local_transport.h"
#include "gtest/gtest.h"
#include "tests/integration/shard_cluster.h"
#include "tests/integration/toy_training.h"
#include "worker/client/grpc_transport.h"

namespace selari {
namespace {

using Setting = void (*)(v1::Job* job);

struct NamedSetting {
  const char* name;
  Setting apply;
};

// Equal as bytes: NaN and -0 count too.
bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

v1::ResolvedJob JobOf(Setting setting, int32_t workers) {
  v1::ResolvedJob job = ToyJob(workers);
  setting(job.mutable_job());
  return job;
}

std::vector<float> TrainLocally(const v1::ResolvedJob& job) {
  const auto shard_job = ShardJob::Create(job);
  SELARI_CHECK(shard_job.ok());
  const auto host = ShardHost::Create({});
  SELARI_CHECK(host->Initialize(*shard_job, {0, 1, 2}).ok());
  ToyRun run;
  run.make_transport =
      [&host](
          int32_t worker) -> absl::StatusOr<std::unique_ptr<ShardTransport>> {
    return MakeLocalTransport(host.get(),
                              {worker, static_cast<uint64_t>(worker) + 1});
  };
  auto weights = TrainToy(job, run);
  EXPECT_TRUE(weights.ok()) << weights.status();
  return weights.ok() ? *std::move(weights) : std::vector<float>();
}

std::vector<float> TrainOverGrpc(
    const v1::ResolvedJob& job, int32_t servers,
    const std::function<void(ShardCluster*, int64_t)>& before_step = nullptr) {
  ShardCluster cluster(job, servers);
  ToyRun run;
  run.make_transport = [&](int32_t worker) {
    return MakeGrpcTransport(job, cluster.map(),
                             {worker, static_cast<uint64_t>(worker) + 1}, {});
  };
  if (before_step != nullptr) {
    run.before_step = [&](int64_t step) { before_step(&cluster, step); };
  }
  auto weights = TrainToy(job, run);
  EXPECT_TRUE(weights.ok()) << weights.status();
  return weights.ok() ? *std::move(weights) : std::vector<float>();
}

class SameBitsTest : public ::testing::TestWithParam<NamedSetting> {};

TEST_P(SameBitsTest, OnAnyNumberOfWorkersAndServers) {
  const std::vector<float> expected =
      TrainLocally(JobOf(GetParam().apply, /*workers=*/1));
  ASSERT_FALSE(expected.empty());

  EXPECT_TRUE(SameBits(TrainLocally(JobOf(GetParam().apply, 3)), expected));
  for (const auto& [workers, servers] :
       {std::pair(1, 1), std::pair(2, 3), std::pair(5, 2)}) {
    EXPECT_TRUE(SameBits(
        TrainOverGrpc(JobOf(GetParam().apply, workers), servers), expected))
        << workers << " workers, " << servers << " servers";
  }
}

TEST_P(SameBitsTest, ThroughBrokenStreams) {
  const std::vector<float> expected =
      TrainLocally(JobOf(GetParam().apply, /*workers=*/1));

  const std::vector<float> weights =
      TrainOverGrpc(JobOf(GetParam().apply, /*workers=*/2), /*servers=*/2,
                    [](ShardCluster* cluster, int64_t step) {
                      cluster->BreakCalls(static_cast<int32_t>(step % 2));
                    });

  EXPECT_TRUE(SameBits(weights, expected));
}

INSTANTIATE_TEST_SUITE_P(
    Optimizers, SameBitsTest,
    ::testing::Values(
        NamedSetting{"Sgd", [](v1::Job*) {}},
        NamedSetting{"AdamClipped",
                     [](v1::Job* job) {
                       job->mutable_optimizer()->mutable_adam();
                       job->mutable_optimizer()->set_clip_global_norm(3);
                     }},
        NamedSetting{"LambClipped",
                     [](v1::Job* job) {
                       job->mutable_optimizer()->mutable_lamb();
                       job->mutable_optimizer()->set_clip_global_norm(3);
                     }}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(SameBitsCanFailTest, OtherSeedGivesOtherBits) {
  EXPECT_FALSE(
      SameBits(TrainLocally(JobOf([](v1::Job*) {}, 1)),
               TrainLocally(JobOf([](v1::Job* job) { job->set_seed(8); }, 1))));
}

TEST(SameBitsCanFailTest, OtherLeafCountGivesOtherBits) {
  EXPECT_FALSE(SameBits(
      TrainLocally(JobOf([](v1::Job*) {}, 1)),
      TrainLocally(JobOf(
          [](v1::Job* job) { job->mutable_training()->set_leaf_count(7); },
          1))));
}

// Without SYNC the order of arrival counts, but a single worker's is fixed.
class OneWorkerTest : public ::testing::TestWithParam<NamedSetting> {};

TEST_P(OneWorkerTest, LocalAndGrpcAgree) {
  const v1::ResolvedJob job = JobOf(GetParam().apply, /*workers=*/1);
  const std::vector<float> expected = TrainLocally(job);
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(SameBits(TrainOverGrpc(job, /*servers=*/2), expected));
}

TEST_P(OneWorkerTest, SeveralWorkersFinish) {
  const v1::ResolvedJob job = JobOf(GetParam().apply, /*workers=*/3);
  EXPECT_FALSE(TrainOverGrpc(job, /*servers=*/2).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Consistencies, OneWorkerTest,
    ::testing::Values(
        NamedSetting{"AsyncClipped",
                     [](v1::Job* job) {
                       job->mutable_consistency()->set_mode(
                           v1::CONSISTENCY_ASYNC);
                       job->mutable_optimizer()->set_clip_global_norm(3);
                     }},
        NamedSetting{"Bounded",
                     [](v1::Job* job) {
                       job->mutable_consistency()->set_mode(
                           v1::CONSISTENCY_BOUNDED);
                       job->mutable_consistency()->set_staleness(1);
                     }}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace selari
