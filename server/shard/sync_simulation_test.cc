#include "server/shard/sync_simulation.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "server/shard/shard_test_util.h"
#include "server/shard/sync_reference.h"
#include "server/shard/test_job.h"

namespace selari {
namespace {

constexpr int64_t kSteps = 4;

// Chunks of several blocks, of odd sizes, and of one element.
v1::ResolvedJob SimulatedJob() {
  v1::ResolvedJob job =
      MakeTestJob({{"a/kernel", 5001}, {"a/bias", 1}, {"b/kernel", 333}});
  job.mutable_tensors(1)->set_skip_weight_decay(true);
  job.mutable_job()->mutable_cluster()->set_shard_count(3);
  return job;
}

void SetOptimizer(const std::string& name, v1::Optimizer* optimizer) {
  optimizer->clear_algorithm();
  optimizer->set_learning_rate(0.01);
  optimizer->set_weight_decay(0.01);
  if (name == "sgd") {
    optimizer->mutable_sgd();
  } else if (name == "adam") {
    optimizer->mutable_adam();
  } else if (name == "clipped_momentum") {
    optimizer->mutable_sgd()->set_momentum(0.9);
    optimizer->set_clip_global_norm(1);
  } else if (name == "clipped_lamb") {
    optimizer->mutable_lamb();
    optimizer->set_clip_global_norm(1);
  }
}

void ExpectReference(const ShardJob& job, const SyncReference& reference,
                     const SyncSimulation& simulation) {
  for (const ChunkSpec& spec : job.layout.chunks()) {
    const ShardState& state = simulation.shard(spec.shard).state();
    ASSERT_EQ(state.version(state.IndexOf(spec.chunk)), reference.step());
    ASSERT_EQ(Values(state.weights(state.IndexOf(spec.chunk))),
              reference.weights()[spec.chunk])
        << "chunk " << spec.chunk;
  }
}

class SyncSimulationTest : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<const ShardJob> Job(int32_t leaf_count) {
    v1::ResolvedJob resolved = SimulatedJob();
    SetOptimizer(GetParam(), resolved.mutable_job()->mutable_optimizer());
    resolved.mutable_job()->mutable_training()->set_leaf_count(leaf_count);
    return CreateJobOrDie(resolved);
  }
};

TEST_P(SyncSimulationTest, AnyScheduleGivesTheBitsOfTheReference) {
  for (const int32_t leaf_count : {1, 5, 8}) {
    const std::shared_ptr<const ShardJob> job = Job(leaf_count);
    SyncReference reference(job);
    while (reference.step() < kSteps) {
      reference.Step();
    }
    for (const int32_t workers : {1, 2, 3, 5}) {
      SyncSimulation::Options options;
      options.workers = workers;
      options.seed = 100 * leaf_count + workers;
      SCOPED_TRACE(absl::StrCat(leaf_count, " leaves, ", workers,
                                " workers, seed ", options.seed));
      SyncSimulation simulation(job, options);
      simulation.RunTo(kSteps);
      ExpectReference(*job, reference, simulation);
    }
  }
}

// A life that knows nothing finds the step that the shards are at, wherever the
// one before it died, and the others never go back.
TEST_P(SyncSimulationTest, WorkersThatBeginAnewGiveTheSameBits) {
  const std::shared_ptr<const ShardJob> job = Job(8);
  SyncReference reference(job);
  while (reference.step() < kSteps) {
    reference.Step();
  }
  int64_t deaths = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SyncSimulation::Options options;
    options.workers = 1 + static_cast<int32_t>(seed % 4);
    options.seed = seed;
    options.overlapping = false;
    options.death_permille = 30;
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    SyncSimulation simulation(job, options);
    simulation.RunTo(kSteps);
    ExpectReference(*job, reference, simulation);
    deaths += simulation.deaths();
  }
  EXPECT_GE(deaths, 50);
}

TEST_P(SyncSimulationTest, TheOpsAloneGiveTheSameState) {
  const std::shared_ptr<const ShardJob> job = Job(8);
  SyncSimulation simulation(job, {});
  simulation.RunTo(kSteps);
  for (int32_t shard = 0; shard < job->layout.shard_count(); ++shard) {
    const std::unique_ptr<ShardState> replayed =
        ShardState::Initial(job, shard);
    EXPECT_NE(replayed->Digest(), simulation.shard(shard).state().Digest());
    ApplyEffects effects;
    for (const ShardOp& op : simulation.ops(shard)) {
      replayed->Apply(op, &effects);
    }
    EXPECT_EQ(replayed->Digest(), simulation.shard(shard).state().Digest());
  }
}

TEST_P(SyncSimulationTest, ACaptureIsTheStateOfARunThatStoppedThere) {
  const std::shared_ptr<const ShardJob> job = Job(8);
  SyncReference reference(job);
  for (const int64_t step : {0, 1, 3}) {
    while (reference.step() < step) {
      reference.Step();
    }
    SyncSimulation::Options options;
    options.workers = 3;
    options.seed = 50 + step;
    SyncSimulation disturbed(job, options);
    disturbed.CaptureAt(step);
    disturbed.RunTo(kSteps);

    std::vector<ShardSnapshot> snapshots = disturbed.captured();
    ASSERT_EQ(static_cast<int32_t>(snapshots.size()),
              job->layout.shard_count());
    std::sort(snapshots.begin(), snapshots.end(),
              [](const ShardSnapshot& a, const ShardSnapshot& b) {
                return a.shard < b.shard;
              });
    for (const ShardSnapshot& snapshot : snapshots) {
      for (const ChunkState& chunk : snapshot.chunks) {
        ASSERT_EQ(chunk.version, step);
        ASSERT_EQ(Values(*chunk.weights), reference.weights()[chunk.chunk]);
        ASSERT_EQ(chunk.slots == nullptr ? std::vector<float>()
                                         : Values(*chunk.slots),
                  reference.slots()[chunk.chunk]);
      }
    }

    // Restored among other workers, the run ends as if undisturbed.
    options.workers = 2;
    options.snapshots = snapshots;
    options.first_step = step;
    SyncSimulation restored(job, options);
    restored.RunTo(kSteps);
    for (int32_t shard = 0; shard < job->layout.shard_count(); ++shard) {
      EXPECT_EQ(restored.shard(shard).state().Digest(),
                disturbed.shard(shard).state().Digest());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Optimizers, SyncSimulationTest,
                         testing::Values("sgd", "adam", "clipped_momentum",
                                         "clipped_lamb"),
                         [](const auto& info) { return info.param; });

// The comparison can fail.
TEST(SyncSimulation, AnotherLeafCountGivesOtherBits) {
  v1::ResolvedJob resolved = SimulatedJob();
  SyncReference eight(CreateJobOrDie(resolved));
  resolved.mutable_job()->mutable_training()->set_leaf_count(4);
  SyncReference four(CreateJobOrDie(resolved));
  eight.Step();
  four.Step();
  EXPECT_NE(eight.weights(), four.weights());
}

}  // namespace
}  // namespace selari
