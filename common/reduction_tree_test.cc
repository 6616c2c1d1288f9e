#include "common/reduction_tree.h"

#include "gtest/gtest.h"

namespace selari {
namespace {

TEST(ReductionTreeTest, RootCoversAllLeaves) {
  for (int32_t v = 1; v <= 1024; ++v) {
    const ReductionTree tree(v);
    EXPECT_EQ(tree.Leaves(tree.root()), (LeafRange{0, v}));
    EXPECT_EQ(tree.Cover({0, v}).size(), 1u) << v;
  }
}

TEST(ReductionTreeTest, CoverIsExactAndInOrder) {
  for (int32_t v = 1; v <= 17; ++v) {
    const ReductionTree tree(v);
    for (int32_t begin = 0; begin <= v; ++begin) {
      for (int32_t end = begin; end <= v; ++end) {
        int32_t next = begin;
        for (const TreeNode& node : tree.Cover({begin, end})) {
          ASSERT_TRUE(tree.Contains(node));
          ASSERT_EQ(tree.Leaves(node).begin, next);
          next = tree.Leaves(node).end;
        }
        ASSERT_EQ(next, end) << v << " " << begin;
      }
    }
  }
}

TEST(ReductionTreeTest, WorkersShareTheLeavesEvenly) {
  const ReductionTree tree(8);
  for (int32_t workers = 1; workers <= 12; ++workers) {
    int32_t next = 0;
    for (int32_t w = 0; w < workers; ++w) {
      const LeafRange leaves = tree.LeavesOfWorker(w, workers);
      EXPECT_EQ(leaves.begin, next);
      EXPECT_LE(leaves.size(), 8 / workers + 1);
      EXPECT_GE(leaves.size(), 8 / workers);
      next = leaves.end;
    }
    EXPECT_EQ(next, 8);
  }
}

TEST(ReductionTreeTest, AlignedHalvesAreOneNode) {
  const ReductionTree tree(8);
  EXPECT_EQ(tree.Cover({4, 8}), (std::vector<TreeNode>{{2, 1}}));
  EXPECT_EQ(tree.Cover({3, 6}), (std::vector<TreeNode>{{0, 3}, {1, 2}}));
}

TEST(ReductionTreeTest, NodesOutsideTheTreeAreNotContained) {
  const ReductionTree tree(5);
  EXPECT_FALSE(tree.Contains({0, 5}));
  EXPECT_FALSE(tree.Contains({4, 0}));
  EXPECT_FALSE(tree.Contains({-1, 0}));
  EXPECT_FALSE(tree.Contains({1, -1}));
  EXPECT_TRUE(tree.Contains({1, 2}));
}

}  // namespace
}  // namespace selari
