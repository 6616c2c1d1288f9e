#include "server/shard/contribution_set.h"

#include <vector>

#include "gtest/gtest.h"

namespace selari {
namespace {

void Add(int64_t n, const float* a, const float* b, float* y) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = a[i] + b[i];
  }
}

// A gradient of `n` floats that are all `value`.
FloatSlice Constant(float value, int64_t n = 1) {
  auto memory = std::make_shared<std::vector<float>>(n, value);
  return {memory->data(), n, memory};
}

class ContributionSetTest : public testing::Test {
 protected:
  std::vector<float> TakeAll() {
    const ReducedGradient gradient = set_.Take(tree_, Add, &program_);
    std::vector<float> sum(gradient.size());
    std::vector<float> scratch(gradient.scratch_blocks() *
                               ReductionProgram::kBlockFloats);
    gradient.CopyTo(sum.data(), scratch.data());
    return sum;
  }

  const ReductionTree tree_{8};
  ContributionSet set_;
  std::shared_ptr<const ReductionProgram> program_;
};

TEST_F(ContributionSetTest, IsCompleteWhenAllLeavesHaveCome) {
  EXPECT_TRUE(set_.Add(tree_, {2, 1}, Constant(10)));
  EXPECT_TRUE(set_.Add(tree_, {1, 0}, Constant(2)));
  EXPECT_FALSE(set_.Complete(tree_));
  EXPECT_TRUE(set_.Add(tree_, {1, 1}, Constant(3)));
  ASSERT_TRUE(set_.Complete(tree_));
  EXPECT_EQ(TakeAll(), std::vector<float>{15});
  EXPECT_EQ(set_.leaf_count(), 0);
}

TEST_F(ContributionSetTest, DropsWhatIsCovered) {
  EXPECT_TRUE(set_.Add(tree_, {2, 0}, Constant(4)));
  EXPECT_FALSE(set_.Add(tree_, {2, 0}, Constant(99)));
  EXPECT_FALSE(set_.Add(tree_, {0, 3}, Constant(99)));
  EXPECT_EQ(set_.leaf_count(), 4);
}

TEST_F(ContributionSetTest, AWiderPartReplacesNarrowerOnes) {
  auto narrow = std::make_shared<std::vector<float>>(1, 99);
  EXPECT_TRUE(set_.Add(tree_, {0, 4}, {narrow->data(), 1, narrow}));
  EXPECT_TRUE(set_.Add(tree_, {0, 7}, {narrow->data(), 1, narrow}));
  EXPECT_TRUE(set_.Add(tree_, {0, 0}, Constant(1)));
  EXPECT_TRUE(set_.Add(tree_, {2, 1}, Constant(10)));
  EXPECT_EQ(narrow.use_count(), 1) << "the dropped parts are released";
  EXPECT_EQ(set_.leaf_count(), 5);
  EXPECT_TRUE(set_.Add(tree_, {3, 0}, Constant(7)));
  EXPECT_EQ(TakeAll(), std::vector<float>{7});
}

TEST_F(ContributionSetTest, KeepsTheProgramOfTheSameCover) {
  const int64_t n = 2 * ReductionProgram::kBlockFloats + 3;
  for (int round = 0; round < 2; ++round) {
    set_.Add(tree_, {2, 0}, Constant(1, n));
    set_.Add(tree_, {2, 1}, Constant(2, n));
    const auto before = program_;
    EXPECT_EQ(TakeAll(), std::vector<float>(n, 3));
    EXPECT_TRUE(round == 0 || before == program_);
  }
}

// A node without a right child covers the leaves of its left one.
TEST(ContributionSet, ANodeAndItsOnlyChildAreTheSamePart) {
  const ReductionTree tree(5);
  ContributionSet set;
  EXPECT_TRUE(set.Add(tree, {0, 4}, Constant(1)));
  EXPECT_FALSE(set.Add(tree, {2, 1}, Constant(1)));
  EXPECT_EQ(set.leaf_count(), 1);
}

}  // namespace
}  // namespace selari
