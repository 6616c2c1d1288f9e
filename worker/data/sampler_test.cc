#include "worker/data/sampler.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SamplerOptions Options(int64_t samples, int64_t batch, int64_t leaves) {
  SamplerOptions options;
  options.seed = 5;
  options.sample_count = samples;
  options.batch_size = batch;
  options.leaf_count = leaves;
  return options;
}

// The samples of a whole step, leaf after leaf.
std::vector<int64_t> Batch(const Sampler& sampler, int64_t step,
                           int64_t leaf_count) {
  std::vector<int64_t> all;
  for (int64_t leaf = 0; leaf < leaf_count; ++leaf) {
    EXPECT_EQ(static_cast<int64_t>(all.size()), sampler.LeafBegin(step, leaf));
    sampler.AppendLeafSamples(step, leaf, &all);
  }
  return all;
}

TEST(SamplerTest, AnEpochVisitsEachSampleOnce) {
  const Sampler sampler(Options(103, 10, 8));
  ASSERT_EQ(sampler.steps_per_epoch(), 11);
  std::vector<int64_t> epoch;
  for (int64_t step = 11; step < 22; ++step) {
    const std::vector<int64_t> batch = Batch(sampler, step, 8);
    EXPECT_EQ(static_cast<int64_t>(batch.size()), step == 21 ? 3 : 10);
    EXPECT_EQ(static_cast<int64_t>(batch.size()), sampler.BatchSize(step));
    epoch.insert(epoch.end(), batch.begin(), batch.end());
  }
  std::sort(epoch.begin(), epoch.end());
  for (int64_t i = 0; i < 103; ++i) {
    EXPECT_EQ(epoch[static_cast<std::size_t>(i)], i);
  }
}

TEST(SamplerTest, ABatchIsTheSameForAnyNumberOfLeaves) {
  const Sampler one(Options(100, 10, 1));
  for (const int64_t leaves : {2, 3, 8, 16}) {
    const Sampler many(Options(100, 10, leaves));
    EXPECT_EQ(Batch(one, 3, 1), Batch(many, 3, leaves));
  }
}

TEST(SamplerTest, LeavesDifferByAtMostOneSample) {
  const Sampler sampler(Options(100, 10, 8));
  for (int64_t leaf = 0; leaf < 8; ++leaf) {
    EXPECT_GE(sampler.LeafSize(0, leaf), 1);
    EXPECT_LE(sampler.LeafSize(0, leaf), 2);
  }
}

TEST(SamplerTest, EpochsAndSeedsDiffer) {
  const Sampler sampler(Options(100, 100, 1));
  SamplerOptions other = Options(100, 100, 1);
  other.seed = 6;
  EXPECT_NE(Batch(sampler, 0, 1), Batch(sampler, 1, 1));
  EXPECT_NE(Batch(sampler, 0, 1), Batch(Sampler(other), 0, 1));
}

TEST(SamplerTest, KeepsFileOrderWithoutShuffle) {
  SamplerOptions options = Options(5, 2, 1);
  options.shuffle = false;
  const Sampler sampler(options);
  EXPECT_THAT(Batch(sampler, 1, 1), ElementsAre(2, 3));
  EXPECT_THAT(Batch(sampler, 2, 1), ElementsAre(4));
  EXPECT_THAT(Batch(sampler, 3, 1), ElementsAre(0, 1));
}

TEST(SamplerTest, ValidateNamesTheField) {
  EXPECT_TRUE(Options(10, 10, 1).Validate().ok());
  EXPECT_THAT(std::string(Options(10, 11, 1).Validate().message()),
              HasSubstr("batch_size is 11, must be in [1, 10]"));
  EXPECT_FALSE(Options(0, 1, 1).Validate().ok());
  EXPECT_FALSE(Options(10, 1, 0).Validate().ok());
}

}  // namespace
}  // namespace selari
