#include "worker/data/prefetcher.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;

// Sample i has features (i, -i) and label i mod 3.
class PrefetcherTest : public ::testing::Test {
 protected:
  PrefetcherTest() : sampler_(Options()) {
    dataset_.size = kSamples;
    dataset_.dim = 2;
    dataset_.class_count = 3;
    dataset_.features = FloatBuffer::Allocate(2 * kSamples);
    for (int64_t i = 0; i < kSamples; ++i) {
      dataset_.features->data()[2 * i] = static_cast<float>(i);
      dataset_.features->data()[2 * i + 1] = static_cast<float>(-i);
      dataset_.labels.push_back(static_cast<int32_t>(i % 3));
    }
  }

  static SamplerOptions Options() {
    SamplerOptions options;
    options.sample_count = kSamples;
    options.batch_size = 8;
    options.leaf_count = 4;
    return options;
  }

  static BatchPlan Plan(int64_t first, int64_t end, int64_t stride) {
    BatchPlan plan;
    plan.first_step = first;
    plan.end_step = end;
    plan.stride = stride;
    plan.leaves = {1, 2};
    return plan;
  }

  static constexpr int64_t kSamples = 50;
  Dataset dataset_;
  const Sampler sampler_;
};

TEST_F(PrefetcherTest, DeliversThePlannedStepsInOrder) {
  Prefetcher prefetcher(&dataset_, &sampler_, Plan(3, 12, 4), {});
  std::vector<int64_t> steps;
  while (std::unique_ptr<StepBatch> batch = prefetcher.Next()) {
    steps.push_back(batch->step);
    prefetcher.Recycle(std::move(batch));
  }
  EXPECT_THAT(steps, ElementsAre(3, 7, 11));
  EXPECT_EQ(prefetcher.Next(), nullptr);
}

TEST_F(PrefetcherTest, ABatchHoldsItsLeavesSamples) {
  Prefetcher prefetcher(&dataset_, &sampler_, Plan(6, 7, 1), {});
  const std::unique_ptr<StepBatch> batch = prefetcher.Next();
  ASSERT_NE(batch, nullptr);
  // Step 6 is the short last batch: 2 samples, all in leaves 1 and 3.
  EXPECT_EQ(batch->global_size, 2);
  EXPECT_THAT(batch->leaves, ElementsAre(1, 2));
  EXPECT_THAT(batch->leaf_begin, ElementsAre(0, 1, 1));
  EXPECT_THAT(batch->first_sample, ElementsAre(0, 1));
  ASSERT_EQ(batch->rows(), 1);
  const int64_t sample = batch->samples[0];
  EXPECT_EQ(batch->features->data()[1], static_cast<float>(-sample));
  EXPECT_EQ(batch->labels[0], sample % 3);
}

TEST_F(PrefetcherTest, RecycledBatchesHoldTheSameAsFreshOnes) {
  Prefetcher prefetcher(&dataset_, &sampler_, Plan(0, 30, 1), {});
  while (std::unique_ptr<StepBatch> batch = prefetcher.Next()) {
    StepBatch fresh;
    GatherStep(dataset_, sampler_, batch->step, {1, 2}, &fresh);
    ASSERT_EQ(batch->samples, fresh.samples);
    ASSERT_EQ(batch->labels, fresh.labels);
    ASSERT_TRUE(std::equal(batch->features->data(),
                           batch->features->data() + 2 * batch->rows(),
                           fresh.features->data()));
    prefetcher.Recycle(std::move(batch));
  }
}

TEST_F(PrefetcherTest, StopsWhileItsQueueIsFull) {
  for (int round = 0; round < 20; ++round) {
    Prefetcher prefetcher(&dataset_, &sampler_, Plan(0, 1000000, 1), {});
    if (round % 2 == 0) {
      EXPECT_NE(prefetcher.Next(), nullptr);
    }
  }
}

TEST_F(PrefetcherTest, AnEmptyPlanEndsAtOnce) {
  Prefetcher prefetcher(&dataset_, &sampler_, Plan(5, 5, 1), {});
  EXPECT_EQ(prefetcher.Next(), nullptr);
}

}  // namespace
}  // namespace selari
