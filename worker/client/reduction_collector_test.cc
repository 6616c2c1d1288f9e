#include "worker/client/reduction_collector.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace selari {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Tensors of 16 and 48 elements over two shards: chunk 0 (tensor 0, shard 0),
// chunk 1 (tensor 1, shard 0), chunk 2 (tensor 1, shard 1).
class ReductionCollectorTest : public ::testing::Test {
 protected:
  ReductionCollectorTest()
      : layout_(*ChunkLayout::Create({16, 48}, {2, 1000})),
        collector_(
            {{ReductionScope::kGlobal, 1}, {ReductionScope::kPerTensor, 2}},
            &layout_, 2) {}

  std::vector<ReductionTotals> Add(int64_t step, int32_t round, int32_t chunk,
                                   std::vector<double> sums) {
    auto totals = collector_.Add({step, round, chunk, std::move(sums)});
    EXPECT_TRUE(totals.ok()) << totals.status();
    return *std::move(totals);
  }

  const ChunkLayout layout_;
  ReductionCollector collector_;
};

TEST_F(ReductionCollectorTest, TellsEveryShardWhenAllPartsAreThere) {
  EXPECT_THAT(Add(5, 0, 2, {4}), IsEmpty());
  EXPECT_THAT(Add(5, 0, 0, {1}), IsEmpty());
  EXPECT_THAT(Add(5, 0, 0, {1}), IsEmpty()) << "a repeat";
  const auto totals = Add(5, 0, 1, {2});

  ASSERT_EQ(totals.size(), 2u);
  EXPECT_EQ(totals[1].step, 5);
  EXPECT_EQ(totals[1].shard, 1);
  EXPECT_THAT(totals[1].totals, ElementsAre(7));
}

TEST_F(ReductionCollectorTest, GroupsByTensor) {
  Add(5, 1, 0, {1, 10});
  Add(5, 1, 1, {2, 20});
  const auto totals = Add(5, 1, 2, {4, 40});

  EXPECT_THAT(totals.at(0).totals, ElementsAre(1, 10, 6, 60));
}

TEST_F(ReductionCollectorTest, ShardThatAsksAgainIsToldAgain) {
  Add(5, 0, 0, {1});
  Add(5, 0, 1, {2});
  Add(5, 0, 2, {4});

  const auto totals = Add(5, 0, 2, {4});

  ASSERT_EQ(totals.size(), 1u);
  EXPECT_EQ(totals[0].shard, 1);
  EXPECT_THAT(totals[0].totals, ElementsAre(7));
}

TEST_F(ReductionCollectorTest, OldRoundsAreForgotten) {
  for (int64_t step = 0; step < 100; ++step) {
    Add(step, 0, 0, {1});
    Add(step, 0, 1, {2});
    EXPECT_EQ(Add(step, 0, 2, {4}).size(), 2u);
  }
}

TEST_F(ReductionCollectorTest, ImpossiblePartsAreRefused) {
  for (const ReductionPartials& partials :
       {ReductionPartials{0, 2, 0, {1}}, ReductionPartials{0, 0, 3, {1}},
        ReductionPartials{0, 0, -1, {1}}, ReductionPartials{0, 0, 0, {1, 2}}}) {
    EXPECT_EQ(collector_.Add(partials).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(ReductionCollectorTest, RoundsThatOthersCompletedAreForgotten) {
  for (int64_t step = 0; step < 100; ++step) {
    Add(step, 0, 0, {1});
  }
  EXPECT_THAT(Add(1, 0, 1, {1}), IsEmpty()) << "long over";
  Add(100, 0, 0, {1});
  Add(100, 0, 1, {2});
  EXPECT_EQ(Add(100, 0, 2, {4}).size(), 2u);
}

}  // namespace
}  // namespace selari
