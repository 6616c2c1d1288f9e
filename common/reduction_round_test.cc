#include "common/reduction_round.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

// Tensor 1 has no chunk; tensor 2 has two.
const std::vector<int32_t> kChunkTensors = {0, 2, 2, 3};
constexpr int kTensorCount = 4;

TEST(ReductionRoundTest, NormOfTheGradientComesBeforeNormsOfTensors) {
  EXPECT_TRUE(ReductionRounds({}).empty());
  ReductionNeeds needs;
  needs.clips_global_norm = true;
  needs.scales_by_tensor = true;
  const std::vector<ReductionRound> expected = {
      {ReductionScope::kGlobal, 1}, {ReductionScope::kPerTensor, 2}};
  EXPECT_EQ(ReductionRounds(needs), expected);
}

TEST(ReductionRoundTest, GlobalRoundAddsAllChunks) {
  const ReductionRound round = {ReductionScope::kGlobal, 1};
  const std::vector<double> totals =
      CombinePartials(round, kChunkTensors, kTensorCount, {1, 2, 3, 4});
  EXPECT_EQ(totals, std::vector<double>({10}));
  EXPECT_EQ(ChunkTotals(round, 3, totals)[0], 10);
}

TEST(ReductionRoundTest, PerTensorRoundKeepsTensorsApart) {
  const ReductionRound round = {ReductionScope::kPerTensor, 2};
  const std::vector<double> totals = CombinePartials(
      round, kChunkTensors, kTensorCount, {1, 10, 2, 20, 3, 30, 4, 40});
  EXPECT_EQ(totals, std::vector<double>({1, 10, 0, 0, 5, 50, 4, 40}));
  const absl::Span<const double> of_chunk = ChunkTotals(round, 2, totals);
  ASSERT_EQ(of_chunk.size(), 2u);
  EXPECT_EQ(of_chunk[0], 5);
  EXPECT_EQ(of_chunk[1], 50);
}

TEST(ReductionRoundTest, ChunksAreAddedInTheirOrder) {
  const ReductionRound round = {ReductionScope::kGlobal, 1};
  // 1e16 + 1 is rounded to 1e16, so that another order gives another sum.
  const std::vector<double> totals =
      CombinePartials(round, kChunkTensors, kTensorCount, {1e16, 1, -1e16, 1});
  EXPECT_EQ(totals[0], 1);
}

TEST(ReductionRoundTest, NoChunksGiveTotalsOfZero) {
  const ReductionRound round = {ReductionScope::kGlobal, 2};
  EXPECT_EQ(CombinePartials(round, {}, 0, {}), std::vector<double>({0, 0}));
}

TEST(ReductionRoundDeathTest, MissingPartialsAreOurBug) {
  const ReductionRound round = {ReductionScope::kGlobal, 2};
  EXPECT_DEATH(CombinePartials(round, kChunkTensors, kTensorCount, {1, 2}),
               "broken invariant");
}

}  // namespace
}  // namespace selari
